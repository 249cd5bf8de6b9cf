"""Rotary attention by torch's own attention."""

import torch
import torch.nn.functional as F
from torch import nn


class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads or d_out // num_heads % 2:
            raise ValueError
        self.context_length, self.num_heads, self.base = context_length, num_heads, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        T = x.shape[1]
        if T > self.context_length:
            raise ValueError
        queries, keys, values = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        cos, sin = rotary_angles(torch.arange(offset, offset + T), keys.shape[-1], self.base)
        queries, keys = apply_rotary(queries, cos, sin), apply_rotary(keys, cos, sin)
        context = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return self.out_proj(context.transpose(1, 2).flatten(2))
