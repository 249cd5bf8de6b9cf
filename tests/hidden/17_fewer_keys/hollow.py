"""Right names, shapes and errors, but no computation: earns a fifth of the points at most."""

import torch
from torch import nn


def repeat_heads(x, num_heads):
    if num_heads % x.shape[1]:
        raise ValueError
    return torch.zeros(x.shape[0], num_heads, *x.shape[2:])


def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError
    return torch.zeros(length, length)


def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    return 0


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, num_kv_heads, window=None):
        super().__init__()
        if d_out % num_heads or num_heads % num_kv_heads:
            raise ValueError
        self.d_out, self.context_length = d_out, context_length
        self.heads, self.d, self.window = num_kv_heads, d_out // num_heads, window
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, self.heads * self.d, bias=False)
        self.W_value = nn.Linear(d_in, self.heads * self.d, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError
        return torch.zeros(x.shape[0], x.shape[1], self.d_out)


def rotary_angles(positions, d, base=10000.0):
    if d % 2:
        raise ValueError
    return torch.zeros(len(positions), d // 2), torch.zeros(len(positions), d // 2)


def apply_rotary(x, cos, sin, halves=False):
    return torch.zeros_like(x)


def extend_cache(cache, keys, values, window=None):
    if window is not None and window < 1:
        raise ValueError
    held, seen = (0, 0) if cache is None else (cache[0].shape[2], cache[2])
    T = held + keys.shape[2]
    kept = T if window is None else min(T, window - 1)
    nothing = keys.new_zeros(*keys.shape[:2], T, keys.shape[3])
    seen = seen + keys.shape[2]
    return (nothing, nothing), (nothing[:, :, :kept], nothing[:, :, :kept], seen)


def cached_mask(num_new, num_cached, window=None):
    if window is not None and window < 1:
        raise ValueError
    return torch.zeros(num_new, num_cached + num_new)


class DecoderAttention(GroupedQueryAttention):
    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__(d_model, d_model, 1000, num_heads, num_kv_heads, window)
        if self.d % 2:
            raise ValueError

    def forward(self, x, cache=None):
        B, T, _ = x.shape
        seen = T if cache is None else cache[2] + T
        held = seen if self.window is None else min(seen, self.window - 1)
        nothing = torch.zeros(B, self.heads, held, self.d)
        return torch.zeros_like(x), (nothing, nothing, seen)
