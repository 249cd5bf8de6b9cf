import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q, k, v = self.W_q(encodings_for_q), self.W_k(encodings_for_v), self.W_v(encodings_for_v)
        a = torch.einsum("...id,...jd->...ij", q, k) * k.shape[-1] ** -0.5
        if mask is not None:
            a = a.masked_fill(~mask.bool(), float("-inf"))
        return torch.einsum("...ij,...jd->...id", a.softmax(-1), v)
