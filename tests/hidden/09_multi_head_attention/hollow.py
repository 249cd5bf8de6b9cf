"""Right names, shapes and errors, but no computation: it gets at most a fifth of the points."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        return torch.zeros_like(encodings_for_q)


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


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model) for _ in range(num_heads)])

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        return torch.zeros(*encodings_for_q.shape[:-1], len(self.heads) * encodings_for_q.shape[-1])


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.d_out, self.context_length = num_heads * d_out, context_length
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError
        return torch.zeros(x.shape[0], x.shape[1], self.d_out)
