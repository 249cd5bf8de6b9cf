"""Calls the earlier exercises of the stage, and otherwise does what the solution does."""

import torch
from torch import nn


def split_heads(x, num_heads):
    B, T, D = x.shape
    if D % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share {D} features evenly")

    heads = x.view(B, T, num_heads, D // num_heads)  # (B, T, H, D/H)
    return heads.transpose(1, 2)  # (B, H, T, D/H)


def merge_heads(x):
    B, H, T, d = x.shape
    tokens = x.transpose(1, 2)  # (B, T, H, d)
    return tokens.reshape(B, T, H * d)


class MultiHeadAttention(nn.Module):
    def __init__(
        self,
        d_in,
        d_out,
        context_length,
        dropout,
        num_heads,
        qkv_bias=False,
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {d_out} features evenly")
        self.num_heads = num_heads

        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
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

        queries = split_heads(queries, self.num_heads)
        keys = split_heads(keys, self.num_heads)
        values = split_heads(values, self.num_heads)

        scores = queries @ keys.transpose(-2, -1)
        masked = scores.masked_fill(self.mask[:T, :T], float("-inf"))
        weights = torch.softmax(masked / keys.shape[-1] ** 0.5, dim=-1)
        weights = self.dropout(weights)
        context = weights @ values  # (B, H, T, d)

        return self.out_proj(merge_heads(context))
