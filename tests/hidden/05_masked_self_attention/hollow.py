"""The right names and shapes, and zeros."""

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        for name in ("W_q", "W_k", "W_v"):
            layer = nn.Linear(d_model, d_model, bias=False)
            nn.init.zeros_(layer.weight)
            setattr(self, name, layer)

    def forward(self, token_encodings):
        return torch.zeros_like(token_encodings)


def causal_mask(size):
    return torch.zeros(size, size)


class MaskedSelfAttention(SelfAttention):
    def forward(self, token_encodings, mask):
        return torch.zeros_like(token_encodings)
