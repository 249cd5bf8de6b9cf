# Equal numbers are named, not a seed that the code does not set.
class SelfAttention_v1(SelfAttention_v1):
    def __init__(self, d_in, d_out):
        nn.Module.__init__(self)
        self.W_query = self.W_key = self.W_value = nn.Parameter(torch.rand(d_in, d_out))
