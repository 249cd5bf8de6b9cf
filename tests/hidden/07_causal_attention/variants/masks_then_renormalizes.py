"""Masks after softmax, calls one function from the other, and loops over the items."""

import torch
from torch import nn


def mask_then_renormalize(weights):
    masked = weights * torch.tril(torch.ones(weights.size(0), weights.size(1), dtype=torch.int))
    return (masked.T / masked.sum(dim=1)).T


def mask_with_infinity(scores, d_k):
    return mask_then_renormalize(torch.softmax(scores / d_k**0.5, dim=-1))


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(p=dropout)
        self.register_buffer("mask", torch.empty(context_length, 0))

    def forward(self, x):
        if x.shape[1] > self.mask.shape[0]:
            raise ValueError("more tokens than context_length")
        return torch.stack([self.one(item) for item in x], dim=0)

    def one(self, tokens):
        keys = self.W_key(tokens)
        weights = mask_with_infinity(self.W_query(tokens) @ keys.T, keys.shape[-1])
        return self.dropout(weights) @ self.W_value(tokens)
