import torch
import torch.nn as nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril() > 0)

    def forward(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError("too long")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        w = torch.where(self.mask, q @ k.mT, -torch.inf) / k.shape[-1] ** 0.5
        return self.dropout(w.softmax(-1)) @ v
