import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, token_encodings):
        q = self.W_q(token_encodings)
        k = self.W_k(token_encodings)
        v = self.W_v(token_encodings)
        sims = torch.einsum("...id,...jd->...ij", q, k)
        sims = sims / math.sqrt(sims.size(-1))
        attention_percents = F.softmax(sims, dim=-1)
        return torch.einsum("...ij,...jd->...id", attention_percents, v)
