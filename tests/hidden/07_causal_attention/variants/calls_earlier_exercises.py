"""Calls the earlier exercises of the stage, and otherwise does what the solution does."""

import torch
from torch import nn


def mask_then_renormalize(weights):
    masked = weights * torch.ones_like(weights).tril()
    return masked / masked.sum(dim=-1, keepdim=True)


def mask_with_infinity(scores, d_k):
    future = torch.ones_like(scores).triu(diagonal=1) == 1
    masked = scores.masked_fill(future, float("-inf"))
    return torch.softmax(masked / d_k**0.5, dim=-1)


class CausalAttention(nn.Module):
    def __init__(
        self,
        d_in,
        d_out,
        context_length,
        dropout,
        qkv_bias=False,
    ):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        future = torch.ones(context_length, context_length).triu(diagonal=1)
        self.register_buffer("mask", future == 1)

    def forward(self, x):
        T = x.shape[1]
        context_length = self.mask.shape[0]
        if context_length < T:
            raise ValueError(f"{T} tokens do not fit into a context of {context_length}")

        queries = self.W_query(x)  # (B, T, d_out)
        keys = self.W_key(x)
        values = self.W_value(x)

        scores = queries @ keys.transpose(-2, -1)
        weights = mask_with_infinity(scores, keys.shape[-1])
        weights = self.dropout(weights)
        return weights @ values  # (B, T, d_out)
