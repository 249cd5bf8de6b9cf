# The mask of the course holds numbers, and a 1 keeps.
class MaskedSelfAttention(MaskedSelfAttention):
    def forward(self, token_encodings, mask):
        layers = (self.W_q, self.W_k, self.W_v)
        q, k, v = (layer(token_encodings) for layer in layers)
        scores = q @ k.transpose(self.row_dim, self.col_dim) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(mask, float('-inf'))
        return torch.softmax(scores, dim=self.col_dim) @ v
