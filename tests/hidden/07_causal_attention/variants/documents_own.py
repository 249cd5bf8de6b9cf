"""The module as the book goes about it: triu of ones, masked_fill_ in place, no check of the length."""

import torch
import torch.nn as nn


def mask_then_renormalize(weights):
    context_length = weights.shape[0]
    mask_simple = torch.tril(torch.ones(context_length, context_length))
    masked_simple = weights * mask_simple
    row_sums = masked_simple.sum(dim=1, keepdim=True)
    return masked_simple / row_sums


def mask_with_infinity(scores, d_k):
    n = scores.shape[0]
    mask = torch.triu(torch.ones(n, n), diagonal=1)
    masked = scores.masked_fill(mask.bool(), -torch.inf)
    return torch.softmax(masked / d_k**0.5, dim=1)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        ones = torch.ones(context_length, context_length)
        self.register_buffer("mask", torch.triu(ones, diagonal=1))

    def forward(self, x):
        b, num_tokens, d_in = x.shape
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)

        attn = queries @ keys.transpose(1, 2)
        attn.masked_fill_(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        attn = torch.softmax(attn / keys.shape[-1] ** 0.5, dim=-1)
        attn = self.dropout(attn)
        return attn @ values
