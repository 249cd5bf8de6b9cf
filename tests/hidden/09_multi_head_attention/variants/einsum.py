"""Uses einsum for all products, always the last axis, and a bool mask of the visible keys."""

import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        for name in ("W_q", "W_k", "W_v"):
            self.add_module(name, nn.Linear(d_model, d_model, bias=False))

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q, k, v = self.W_q(encodings_for_q), self.W_k(encodings_for_k), self.W_v(encodings_for_v)
        s = torch.einsum("...id,...jd->...ij", q, k) / math.sqrt(k.shape[-1])
        if mask is not None:
            s = torch.where(mask.bool(), s, torch.tensor(-torch.inf))
        return torch.einsum("...ij,...jd->...id", s.softmax(-1), v)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)
        self.drop = nn.Dropout(dropout)
        keep = torch.ones(context_length, context_length, dtype=torch.bool).tril()
        self.register_buffer("mask", keep, persistent=False)

    def forward(self, x):
        T = x.shape[1]
        assert T <= len(self.mask)
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        s = torch.einsum("bid,bjd->bij", q, k) / math.sqrt(k.shape[-1])
        s = torch.where(self.mask[:T, :T], s, -torch.inf)
        return torch.einsum("bij,bjd->bid", self.drop(s.softmax(-1)), v)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(Attention(d_model, row_dim, col_dim))

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        given = encodings_for_q, encodings_for_k, encodings_for_v, mask
        return torch.stack([head(*given) for head in self.heads], dim=-2).flatten(-2)


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x):
        return torch.stack([head(x) for head in self.heads], dim=2).flatten(2)
