"""Computes in double precision, returns single precision, and writes softmax out."""

import torch
from torch import nn


def softmax(scores):
    powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return powers / powers.sum(dim=-1, keepdim=True)


def mask_then_renormalize(weights):
    masked = weights.double().tril()
    return masked.div(masked.sum(-1).unsqueeze(-1)).to(weights.dtype)


def mask_with_infinity(scores, d_k):
    wide = scores.double() / d_k**0.5
    lowest = torch.finfo(wide.dtype).min
    return softmax(wide.masked_fill(torch.ones_like(wide).triu(1) > 0, lowest)).to(scores.dtype)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.arange(context_length))

    def forward(self, x):
        steps = self.mask[: x.shape[-2]]
        if len(steps) < x.shape[-2]:
            raise ValueError("the context is shorter than that")
        q, k, v = (layer(x).double() for layer in (self.W_query, self.W_key, self.W_value))
        scores = q @ k.swapaxes(-1, -2) / k.size(-1) ** 0.5
        scores = scores.masked_fill(steps[None, :] > steps[:, None], -torch.inf)
        return (self.dropout(softmax(scores)) @ v).to(x.dtype)
