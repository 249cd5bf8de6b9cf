"""Scales the queries, and multiplies by the mask as the first GPT did."""

import torch
from torch import nn


def mask_then_renormalize(weights):
    lower = torch.tril(weights)
    return lower / torch.sum(lower, -1, True)


def mask_with_infinity(scores, d_k):
    scores = scores / torch.tensor(d_k**0.5)
    keep = torch.tril(torch.ones(scores.shape))
    return torch.softmax(scores * keep - 1e10 * (1 - keep), dim=-1)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.attn_drop = nn.Dropout(dropout)
        keep = torch.tril(torch.ones(context_length, context_length))
        self.register_buffer("mask", keep.view(1, context_length, context_length))

    def forward(self, x):
        B, T, _ = x.size()
        if T > self.mask.size(-1):
            raise ValueError("too many tokens")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        q = q * q.size(-1) ** -0.5
        w = torch.matmul(q, k.permute(0, 2, 1))
        b = self.mask[:, :T, :T]
        w = w * b - 1e10 * (1 - b)
        w = self.attn_drop(nn.Softmax(dim=-1)(w))
        return torch.matmul(w, v).reshape(B, T, -1)
