"""The classes of stage 05 by torch's ready-made attention."""

from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, token_encodings):
        q, k, v = (layer(token_encodings) for layer in (self.W_q, self.W_k, self.W_v))
        return nn.functional.scaled_dot_product_attention(q, k, v)


class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, token_encodings, mask):
        q, k, v = (layer(token_encodings) for layer in (self.W_q, self.W_k, self.W_v))
        return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask == 1)
