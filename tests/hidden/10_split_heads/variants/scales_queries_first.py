"""Scales queries before the product, moves axes in several ways, and adds the mask."""

import torch
from torch import nn


def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} features, {num_heads} heads")
    return torch.stack(x.chunk(num_heads, dim=-1)).movedim(0, 1)


def merge_heads(x):
    return torch.cat(x.unbind(1), -1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{d_out} features, {num_heads} heads")
        self.num_heads, self.context_length = num_heads, context_length
        self.W_query, self.W_key, self.W_value = (
            nn.Linear(d_in, d_out, qkv_bias) for _ in range(3)
        )
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        lowest = torch.finfo(torch.float32).min
        self.register_buffer("mask", torch.full((context_length, context_length), lowest).triu(1))

    def forward(self, x):
        T = x.shape[-2]
        if T > self.context_length:
            raise ValueError("does not fit")
        cut = lambda y: y.unflatten(-1, (self.num_heads, -1)).swapaxes(-2, -3)
        q, k, v = cut(self.W_query(x)), cut(self.W_key(x)), cut(self.W_value(x))
        q = q * q.shape[-1] ** -0.5
        w = (q @ k.mT + self.mask[:T, :T]).softmax(dim=-1)
        return self.out_proj((self.dropout(w) @ v).swapaxes(-2, -3).flatten(-2))
