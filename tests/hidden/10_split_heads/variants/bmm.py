"""Merges the heads into the batch axis for bmm, as many implementations do."""

import torch
from torch import nn


def split_heads(x, num_heads):
    B, T, D = x.shape
    if D % num_heads:
        raise ValueError
    folded = x.contiguous().view(B, T, num_heads, D // num_heads).transpose(1, 2)
    return folded.reshape(B * num_heads, T, -1).view(B, num_heads, T, -1)


def merge_heads(x):
    B, H, T, d = x.shape
    out = x.new_empty(B, T, H, d)
    out.copy_(x.transpose(1, 2))
    return out.view(B, T, -1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError
        self.num_heads, self.d_k = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril().bool())

    def fold(self, y):
        B, T, _ = y.shape
        y = y.view(B, T, self.num_heads, self.d_k).transpose(1, 2)
        return y.reshape(B * self.num_heads, T, self.d_k)

    def forward(self, x):
        B, T, _ = x.shape
        if T > len(self.mask):
            raise ValueError
        q, k, v = self.fold(self.W_query(x)), self.fold(self.W_key(x)), self.fold(self.W_value(x))
        s = torch.bmm(q, k.transpose(1, 2))
        s[:, ~self.mask[:T, :T]] = float("-inf")
        a = self.drop(torch.softmax(s.div(self.d_k**0.5), -1))
        out = torch.bmm(a, v).view(B, self.num_heads, T, self.d_k)
        return self.out_proj(out.transpose(1, 2).reshape(B, T, -1))
