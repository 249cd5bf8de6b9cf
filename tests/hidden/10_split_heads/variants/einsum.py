"""Uses einsum for all products, unflatten to split heads, and a mask of the visible keys."""

import math

import torch
import torch.nn as nn


def split_heads(x, num_heads):
    assert x.size(-1) % num_heads == 0, "uneven heads"
    x = x.unflatten(-1, (num_heads, -1))
    return torch.einsum("bthd->bhtd", x)


def merge_heads(x):
    return torch.einsum("bhtd->bthd", x).flatten(2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0, "uneven heads"
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        keep = torch.ones(context_length, context_length, dtype=torch.bool).tril()
        self.register_buffer("mask", keep, persistent=False)

    def forward(self, x):
        T = x.size(1)
        assert T <= self.mask.size(0), "too long"
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1))
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        scores = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(q.size(-1))
        scores = torch.where(self.mask[:T, :T], scores, -torch.inf)
        w = self.drop(scores.softmax(-1))
        return self.out_proj(torch.einsum("bhij,bjhd->bihd", w, v).flatten(-2))
