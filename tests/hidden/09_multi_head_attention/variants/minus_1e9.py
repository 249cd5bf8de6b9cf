"""Uses -1e9 and the smallest float instead of minus infinity."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.dims = row_dim, col_dim

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q, k, v = self.W_q(encodings_for_q), self.W_k(encodings_for_k), self.W_v(encodings_for_v)
        scores = q.matmul(k.transpose(*self.dims)).div(k.size(self.dims[1]) ** 0.5)
        if mask is not None:
            scores = scores.masked_fill(mask.eq(0), -1e9)
        return scores.softmax(self.dims[1]).matmul(v)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        lowest = torch.finfo(torch.float32).min
        self.register_buffer("mask", torch.full((context_length, context_length), lowest).triu(1))

    def forward(self, x):
        T = x.shape[1]
        if T > self.mask.size(0):
            raise ValueError
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = q @ k.mT / k.shape[-1] ** 0.5 + self.mask[:T, :T]
        return self.dropout(torch.softmax(scores, -1)) @ v


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.col_dim = col_dim
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for _ in range(num_heads)])

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        out = ()
        for head in self.heads:
            out += (head(encodings_for_q, encodings_for_k, encodings_for_v, mask),)
        return torch.cat(out, self.col_dim)


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        return torch.concat(list(map(lambda head: head(x), self.heads)), 2)
