"""Masks after softmax and renormalizes in float32; splits heads with tensor_split."""

import torch
from torch import nn


def split_heads(x, num_heads):
    if x.shape[-1] % num_heads > 0:
        raise ValueError("uneven")
    heads = x.tensor_split(num_heads, dim=-1)
    return torch.cat([head[:, None] for head in heads], dim=1)


def merge_heads(x):
    return torch.hstack([head.transpose(1, 2) for head in x.unbind(dim=1)]).transpose(1, 2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads > 0:
            raise ValueError("uneven")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        T = x.shape[1]
        if T > len(self.mask):
            raise ValueError(T)
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        weights = torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, dim=-1)
        weights = weights * self.mask[:T, :T]
        weights = self.dropout(weights / weights.sum(dim=-1, keepdim=True))
        return self.out_proj(merge_heads(weights @ values))
