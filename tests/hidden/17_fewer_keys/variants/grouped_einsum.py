"""Groups as an axis: queries (B, G, H/G, T, d) use the keys without a copy; complex rotations."""

import torch
from torch import nn


def repeat_heads(x, num_heads):
    B, G, T, d = x.shape
    if num_heads % G:
        raise ValueError(f"{num_heads} heads can't be shared out among {G}")
    return x[:, :, None].expand(B, G, num_heads // G, T, d).reshape(B, num_heads, T, d)


def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError("empty window")
    ones = torch.ones(length, length)
    near = ones.tril() - ones.tril(-window)
    near[:, :sinks] = 1
    return near.tril()


def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    tokens = min(context_length, window or context_length)
    return 2 * batch_size * num_layers * num_kv_heads * tokens * head_size * bytes_per_number


def grouped(queries, keys, values, hidden):
    """Attend with (B, G, R, T, d) queries to (B, G, K, d) keys."""
    scores = torch.einsum("bgrtd,bgkd->bgrtk", queries, keys) * keys.shape[-1] ** -0.5
    weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
    context = torch.einsum("bgrtk,bgkd->btgrd", weights, values)
    return context.flatten(2)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, num_kv_heads, window=None):
        super().__init__()
        if d_out % num_heads or num_heads % num_kv_heads:
            raise ValueError("the heads do not fit")
        self.G, self.R, self.d = num_kv_heads, num_heads // num_kv_heads, d_out // num_heads
        self.context_length, self.window = context_length, window
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, self.G * self.d, bias=False)
        self.W_value = nn.Linear(d_in, self.G * self.d, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        B, T, _ = x.shape
        if T > self.context_length:
            raise ValueError("too long")
        queries = self.W_query(x).view(B, T, self.G, self.R, self.d).permute(0, 2, 3, 1, 4)
        keys = self.W_key(x).view(B, T, self.G, self.d).transpose(1, 2)
        values = self.W_value(x).view(B, T, self.G, self.d).transpose(1, 2)
        hidden = window_mask(T, self.window or T) == 0
        return self.out_proj(grouped(queries, keys, values, hidden))


def turn(x, seen, base):
    """Multiply pairs, as complex numbers, by e^(i · angle): the shape stays."""
    T, d = x.shape[-2:]
    frequencies = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = torch.outer(torch.arange(seen, seen + T, dtype=torch.float64), frequencies)
    turns = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turns).flatten(-2).to(x.dtype)


class DecoderAttention(GroupedQueryAttention):
    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__(d_model, d_model, 0, num_heads, num_kv_heads, window)
        if self.d % 2:
            raise ValueError("pairs need an even size")
        self.base = base

    def forward(self, x, cache=None):
        B, T, _ = x.shape
        queries = self.W_query(x).view(B, T, self.G, self.R, self.d).permute(0, 2, 3, 1, 4)
        keys = self.W_key(x).view(B, T, self.G, self.d).transpose(1, 2)
        values = self.W_value(x).view(B, T, self.G, self.d).transpose(1, 2)
        old_keys, old_values, seen = cache or (keys[:, :, :0], values[:, :, :0], 0)

        queries, keys = turn(queries, seen, self.base), turn(keys, seen, self.base)
        keys = torch.cat([old_keys, keys], 2)
        values = torch.cat([old_values, values], 2)
        K = keys.shape[2]
        visible = torch.ones(T, K).tril(K - T)
        if self.window is not None:
            visible = visible.triu(K - T - self.window + 1)
        context = self.out_proj(grouped(queries, keys, values, visible == 0))
        if self.window is not None:
            kept = min(K, self.window - 1)
            keys, values = keys[:, :, K - kept :], values[:, :, K - kept :]
        return context, (keys, values, seen + T)


def rotary_angles(positions, d, base=10000.0):
    if d % 2 != 0:
        raise ValueError("an odd number of features")
    angles = torch.einsum("t,i->ti", positions * 1.0, 1 / base ** (torch.arange(0, d, 2) / d))
    return angles.cos(), angles.sin()


def apply_rotary(x, cos, sin, halves=False):
    pairs = x.unflatten(-1, (2, -1)).swapaxes(-1, -2) if halves else x.unflatten(-1, (-1, 2))
    turns = torch.complex(cos.double(), sin.double())
    turned = torch.view_as_real(torch.view_as_complex(pairs.double().contiguous()) * turns)
    turned = turned.swapaxes(-1, -2) if halves else turned
    return turned.flatten(-2).to(x.dtype)


def extend_cache(cache, keys, values, window=None):
    if window is not None and window <= 0:
        raise ValueError("window must be positive")
    old_k, old_v, seen = cache if cache is not None else (keys[:, :, :0], values[:, :, :0], 0)
    all_k = torch.cat([old_k, keys], dim=-2)
    all_v = torch.cat([old_v, values], dim=-2)
    if window is None:
        kept_k, kept_v = all_k, all_v
    elif window == 1:
        kept_k, kept_v = all_k[:, :, :0], all_v[:, :, :0]
    else:
        kept_k, kept_v = all_k[:, :, -(window - 1):], all_v[:, :, -(window - 1):]
    return (all_k, all_v), (kept_k, kept_v, seen + keys.size(2))


def cached_mask(num_new, num_cached, window=None):
    total = num_cached + num_new
    return window_mask(total, total if window is None else window)[num_cached:]
