"""Ready-made attention of groups, with a window and with a cache.

A cache of keys does not allow to project old tokens again, so `projected_once` has no module here.
"""

import torch
import torch.nn.functional as F
from torch import nn


def band(T, K, window):
    """Mark the visible keys: the last query belongs to the last key."""
    distances = torch.arange(K - T, K)[:, None] - torch.arange(K)
    return (distances >= 0) & (distances < (K if window is None else window))


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, num_kv_heads, window=None):
        super().__init__()
        if d_out % num_heads or num_heads % num_kv_heads:
            raise ValueError
        self.context_length, self.window = context_length, window
        self.d = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, num_kv_heads * self.d, bias=False)
        self.W_value = nn.Linear(d_in, num_kv_heads * self.d, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        T = x.shape[1]
        if self.context_length < T:
            raise ValueError
        layers = (self.W_query, self.W_key, self.W_value)
        heads = [layer(x).unflatten(-1, (-1, self.d)).transpose(1, 2) for layer in layers]
        context = F.scaled_dot_product_attention(
            *heads, attn_mask=band(T, T, self.window), enable_gqa=True
        )
        return self.out_proj(context.transpose(1, 2).flatten(2))


def rotate(x, positions, base):
    """Rotate pairs of features by the angles of their positions."""
    d = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, d, 2) / d)
    a, b = x[..., 0::2], x[..., 1::2]
    turned = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return torch.stack(turned, dim=-1).flatten(start_dim=-2)


class DecoderAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads or d_model // num_heads % 2:
            raise ValueError
        self.window, self.base, self.d = window, base, d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * self.d, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.d, bias=False)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        layers = (self.W_query, self.W_key, self.W_value)
        queries, keys, values = (
            layer(x).unflatten(-1, (-1, self.d)).transpose(1, 2) for layer in layers
        )
        T, seen = x.shape[1], 0 if cache is None else cache[2]
        positions = torch.arange(seen, seen + T)
        queries, keys = (rotate(one, positions, self.base) for one in (queries, keys))
        if cache is not None:
            keys, values = torch.cat((cache[0], keys), 2), torch.cat((cache[1], values), 2)
        K = keys.shape[2]
        context = F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=band(T, K, self.window), enable_gqa=True
        )
        forgotten = 0 if self.window is None else max(0, K - (self.window - 1))
        cache = keys[:, :, forgotten:], values[:, :, forgotten:], seen + T
        return self.out_proj(context.transpose(1, 2).flatten(2)), cache
