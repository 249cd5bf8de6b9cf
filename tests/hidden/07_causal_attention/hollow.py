"""Right names, shapes and errors, but no computation: it gets at most a fifth of the points."""

import torch
from torch import nn


def mask_then_renormalize(weights):
    return torch.zeros_like(weights)


def mask_with_infinity(scores, d_k):
    return torch.zeros_like(scores)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.d_out, self.context_length = d_out, context_length
        self.register_buffer("mask", torch.zeros(context_length, context_length))

    def forward(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError
        return torch.zeros(x.shape[0], x.shape[1], self.d_out)
