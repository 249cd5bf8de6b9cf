"""Follows the documents: a triu of ones, filled in place."""

import torch
import torch.nn as nn


def mask_then_renormalize(weights):
    lower = torch.tril(torch.ones(weights.shape[0], weights.shape[0]))
    visible = weights * lower
    return visible / visible.sum(dim=1, keepdim=True)


def mask_with_infinity(scores, d_k):
    upper = torch.triu(torch.ones(scores.shape), diagonal=1).bool()
    return torch.softmax(scores.masked_fill(upper, -torch.inf) / d_k**0.5, dim=1)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        upper = torch.triu(torch.ones(context_length, context_length), diagonal=1)
        self.register_buffer("mask", upper)

    def forward(self, x):
        _, T, _ = x.shape
        if T > len(self.mask):  # the documents' code fails later, with a shape error
            raise ValueError("too many tokens")
        Q, K = self.W_query(x), self.W_key(x)
        S = Q @ K.transpose(1, 2)
        S.masked_fill_(self.mask[:T, :T].bool(), -torch.inf)
        A = self.dropout(torch.softmax(S / K.shape[-1] ** 0.5, dim=-1))
        return A @ self.W_value(x)
