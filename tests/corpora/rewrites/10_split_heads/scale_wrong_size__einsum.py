import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out must be divisible by num_heads")
        self.d_out, self.h, self.context_length = d_out, num_heads, context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def split(self, t):
        return t.unflatten(-1, (self.h, -1))

    def forward(self, x):
        t = x.size(1)
        if t > self.context_length:
            raise ValueError("too long")
        q, k, v = self.split(self.W_query(x)), self.split(self.W_key(x)), self.split(self.W_value(x))
        a = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(self.d_out)
        a = torch.where(self.mask[:t, :t].bool(), -torch.inf, a)
        a = self.dropout(F.softmax(a, dim=-1))
        return self.out_proj(torch.einsum("bhqk,bkhd->bqhd", a, v).flatten(2))
