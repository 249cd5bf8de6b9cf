import math

import torch
import torch.nn as nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(p=dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1))

    def forward(self, x):
        if x.size(1) > self.context_length:
            raise ValueError
        q = self.W_query(x) / math.sqrt(self.d_out)
        a = torch.einsum("bqd,bkd->bqk", q, self.W_key(x)).softmax(-1)
        return torch.einsum("bqk,bkd->bqd", self.dropout(a), self.W_value(x))
