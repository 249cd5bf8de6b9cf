"""Loops over slices of features, one for each head, and concatenates the results."""

import torch
from torch import nn


def split_heads(x, num_heads):
    D = x.shape[2]
    size = D // num_heads
    if size * num_heads != D:
        raise ValueError("num_heads must divide the number of features")
    parts = []
    for h in range(num_heads):
        parts.append(x[:, :, h * size : (h + 1) * size])
    return torch.stack(parts, dim=1)


def merge_heads(x):
    parts = []
    for h in range(x.shape[1]):
        parts.append(x[:, h])
    return torch.cat(parts, dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("num_heads must divide d_out")
        self.H = num_heads
        self.size = d_out // num_heads
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=True)
        self.p = dropout
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1))

    def forward(self, x):
        T = x.shape[1]
        if T > self.context_length:
            raise ValueError("too many tokens")
        Q, K, V = self.W_query(x), self.W_key(x), self.W_value(x)
        heads = []
        for h in range(self.H):
            own = slice(h * self.size, (h + 1) * self.size)
            q, k, v = Q[..., own], K[..., own], V[..., own]
            scores = torch.bmm(q, k.transpose(1, 2)) * self.size**-0.5
            scores = scores.masked_fill(self.mask[:T, :T] > 0, float("-inf"))
            w = nn.functional.softmax(scores, dim=2)
            w = nn.functional.dropout(w, p=self.p, training=self.training)
            heads.append(torch.bmm(w, v))
        return self.out_proj(torch.cat(heads, dim=-1))
