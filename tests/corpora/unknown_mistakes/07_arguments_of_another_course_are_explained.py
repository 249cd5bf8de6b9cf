# The names of this course are listed, even beside checks with hidden inputs.
class CausalAttention(CausalAttention):
    def __init__(self, d_in, d_out, context_len, dropout, bias, n_heads):
        super().__init__(d_in, d_out, context_len, dropout, bias)
