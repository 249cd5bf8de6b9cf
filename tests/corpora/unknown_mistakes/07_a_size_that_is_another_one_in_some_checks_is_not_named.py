# In some checks the context length is the number of tokens, in others it is not.
class CausalAttention(CausalAttention):
    def forward(self, x):
        rows = x.shape[-2]
        scores = self.W_query(x) @ self.W_key(x).transpose(-2, -1)
        masked = scores.masked_fill(self.mask.bool()[:rows, :rows], -torch.inf)
        weights = torch.softmax(masked / self.mask.shape[0] ** 0.5, dim=-1)
        return self.dropout(weights) @ self.W_value(x)
