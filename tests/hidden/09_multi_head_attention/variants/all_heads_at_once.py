"""The heads hold the layers; forward stacks their weights and uses one product for all heads."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        return together([self], encodings_for_q, encodings_for_k, encodings_for_v, mask)


def together(heads, xq, xk, xv, mask=None):
    Wq, Wk, Wv = (
        torch.stack([getattr(head, name).weight.T for head in heads])
        for name in ("W_q", "W_k", "W_v")
    )
    q, k, v = xq.unsqueeze(-3) @ Wq, xk.unsqueeze(-3) @ Wk, xv.unsqueeze(-3) @ Wv
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + torch.log(mask)
    out = scores.softmax(-1) @ v
    return out.transpose(-2, -3).flatten(-2)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril())

    def forward(self, x):
        return causal([self], x)


def causal(heads, x):
    T, first = x.shape[1], heads[0]
    if T > first.mask.shape[0]:
        raise ValueError("too long")
    q, k, v = (
        torch.stack([getattr(head, name)(x) for head in heads], dim=1)
        for name in ("W_query", "W_key", "W_value")
    )
    scores = (q @ k.mT).masked_fill(first.mask[:T, :T] == 0, -torch.inf)
    weights = first.dropout(torch.softmax(scores / k.shape[-1] ** 0.5, -1))
    return (weights @ v).transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList([Attention(d_model, row_dim, col_dim) for _ in range(num_heads)])

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        return together(self.heads, encodings_for_q, encodings_for_k, encodings_for_v, mask)


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        return causal(self.heads, x)
