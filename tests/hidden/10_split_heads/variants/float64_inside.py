"""Computes in double precision, makes the mask in forward, and renormalizes masked weights."""

import torch
from torch import nn


def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError("no")
    y = x.double().view(*x.shape[:-1], num_heads, -1)
    return y.movedim(-2, 1).to(x.dtype)


def merge_heads(x):
    return x.double().movedim(1, 2).flatten(start_dim=2).to(x.dtype)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("no")
        self.H, self.context_length = num_heads, context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(1))

    def forward(self, x):
        B, T, _ = x.shape
        if T > self.context_length:
            raise ValueError("no")
        q, k, v = (
            f(x).double().reshape(B, T, self.H, -1).transpose(1, 2)
            for f in (self.W_query, self.W_key, self.W_value)
        )
        weights = (q @ k.transpose(2, 3) / q.shape[-1] ** 0.5).softmax(-1).tril()
        weights = self.dropout(weights / weights.sum(-1, keepdim=True))
        context = (weights @ v).transpose(1, 2).flatten(2)
        return self.out_proj(context.to(x.dtype))
