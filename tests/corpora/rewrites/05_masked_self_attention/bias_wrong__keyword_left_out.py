import math

import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model)

    def forward(self, token_encodings):
        q, k, v = self.W_q(token_encodings), self.W_k(token_encodings), self.W_v(token_encodings)
        w = torch.softmax(torch.einsum("...id,...jd->...ij", q, k) / math.sqrt(q.size(-1)), -1)
        return torch.einsum("...ij,...jd->...id", w, v)
