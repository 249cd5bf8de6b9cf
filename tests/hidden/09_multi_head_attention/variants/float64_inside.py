"""Computes in double precision, scales queries first, and masks and normalizes after softmax."""

import torch
from torch import nn


def attend(q, k, v, visible=None, dropout=None):
    """Attend on the last two axes, in double precision."""
    dtype = q.dtype
    q, k, v = q.double() * k.shape[-1] ** -0.5, k.double(), v.double()
    w = torch.softmax(q @ k.mT, dim=-1)
    if visible is not None:
        w = w * visible
        w = w / w.sum(-1, keepdim=True)
    if dropout is not None:
        w = dropout(w)
    return (w @ v).to(dtype)


class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q, k, v = self.W_q(encodings_for_q), self.W_k(encodings_for_k), self.W_v(encodings_for_v)
        return attend(q, k, v, mask)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril())

    def forward(self, x):
        T = x.shape[1]
        assert T <= len(self.mask)
        visible = self.mask[:T, :T]
        return attend(self.W_query(x), self.W_key(x), self.W_value(x), visible, self.dropout)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model) for _ in range(num_heads)])

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        parts = [h(encodings_for_q, encodings_for_k, encodings_for_v, mask) for h in self.heads]
        return torch.cat(parts, dim=-1)


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        arguments = (d_in, d_out, context_length, dropout, qkv_bias)
        self.heads = nn.ModuleList([CausalAttention(*arguments) for _ in range(num_heads)])

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)
