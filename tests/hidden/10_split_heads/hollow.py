"""Right names, shapes and errors, but no computation: it gets at most a fifth of the points."""

import torch
from torch import nn


def split_heads(x, num_heads):
    B, T, D = x.shape
    if D % num_heads:
        raise ValueError
    return torch.zeros(B, num_heads, T, D // num_heads)


def merge_heads(x):
    B, H, T, d = x.shape
    return torch.zeros(B, T, H * d)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.d_out, self.context_length = d_out, context_length
        self.register_buffer("mask", torch.zeros(context_length, context_length))

    def forward(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError
        return torch.zeros(x.shape[0], x.shape[1], self.d_out)
