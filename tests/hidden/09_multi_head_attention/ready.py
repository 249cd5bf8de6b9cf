"""The classes of stage 09 by torch's ready-made attention."""

import torch
from torch import nn

attend = nn.functional.scaled_dot_product_attention


class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        visible = None if mask is None else mask == 1
        queries, keys = self.W_q(encodings_for_q), self.W_k(encodings_for_k)
        return attend(queries, keys, self.W_v(encodings_for_v), attn_mask=visible)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.p = dropout
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1))

    def forward(self, x):
        if x.shape[1] > len(self.mask):
            raise ValueError("too many tokens")
        dropped = self.p if self.training else 0.0
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        return attend(queries, keys, values, dropout_p=dropped, is_causal=True)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        self.heads = nn.ModuleList(
            [Attention(d_model, row_dim, col_dim) for _ in range(num_heads)]
        )

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        visible = None if mask is None else mask == 1
        contexts = []
        for head in self.heads:
            queries, keys = head.W_q(encodings_for_q), head.W_k(encodings_for_k)
            values = head.W_v(encodings_for_v)
            contexts.append(attend(queries, keys, values, attn_mask=visible))
        return torch.cat(contexts, dim=-1)


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        sizes = (d_in, d_out, context_length, dropout, qkv_bias)
        self.heads = nn.ModuleList([CausalAttention(*sizes) for _ in range(num_heads)])
        self.p, self.context_length = dropout, context_length

    def forward(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError("too many tokens")
        dropped, contexts = self.p if self.training else 0.0, []
        for head in self.heads:
            queries, keys, values = head.W_query(x), head.W_key(x), head.W_value(x)
            contexts.append(attend(queries, keys, values, dropout_p=dropped, is_causal=True))
        return torch.cat(contexts, dim=-1)
