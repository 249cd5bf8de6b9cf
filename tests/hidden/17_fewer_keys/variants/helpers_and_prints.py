"""Small helpers, prints, and each exercise used in the next one."""

import math

import torch
from torch import nn


def repeat_heads(x, num_heads):
    print("repeat_heads", x.shape, num_heads)
    batch, groups = x.shape[0], x.shape[1]
    if num_heads % groups != 0:
        raise ValueError(f"cannot repeat {groups} heads to get {num_heads}")
    times = num_heads // groups
    copies = [x[:, g].unsqueeze(1).repeat(1, times, 1, 1) for g in range(groups)]
    return torch.cat(copies, dim=1)


def window_mask(length, window, sinks=0):
    if not window >= 1:
        raise ValueError(f"window is {window}")
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        mask[i, max(0, i - window + 1) : i + 1] = True
        mask[i, : min(sinks, i + 1)] = True
    return mask


def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    total = 0
    for _layer in range(num_layers):
        for _part in ("keys", "values"):
            tokens = context_length
            if window is not None:
                tokens = min(tokens, window)
            total += batch_size * tokens * num_kv_heads * head_size * bytes_per_number
    return total


def split(x, heads):
    """(B, T, heads · d) -> (B, heads, T, d)."""
    return x.reshape(x.shape[0], x.shape[1], heads, -1).permute(0, 2, 1, 3)


def merge(x):
    """(B, H, T, d) -> (B, T, H · d)."""
    return x.permute(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def attention(queries, keys, values, visible):
    """Plain attention with a mask of the visible keys."""
    assert queries.shape[1] == keys.shape[1]
    d = queries.shape[-1]
    scores = torch.matmul(queries, torch.transpose(keys, 2, 3)) / math.sqrt(d)
    scores = scores.masked_fill(torch.logical_not(visible), -math.inf)
    highest = scores.amax(dim=-1, keepdim=True)
    raised = torch.exp(scores - highest)
    return torch.matmul(raised / raised.sum(dim=-1, keepdim=True), values)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, num_kv_heads, window=None):
        super().__init__()
        head_size, rest = divmod(d_out, num_heads)
        if rest != 0:
            raise ValueError(f"d_out {d_out} does not fit {num_heads} heads")
        if num_kv_heads > num_heads or num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_kv_heads} heads of keys do not fit {num_heads} heads")
        self.context_length = context_length
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_size = head_size
        self.window = window
        self.W_query = nn.Linear(d_in, num_heads * head_size, bias=False)
        self.W_key = nn.Linear(d_in, num_kv_heads * head_size, bias=False)
        self.W_value = nn.Linear(d_in, num_kv_heads * head_size, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        tokens = x.shape[1]
        if tokens > self.context_length:
            raise ValueError(f"{tokens} tokens are too many")
        queries = split(self.W_query(x), self.num_heads)
        keys = repeat_heads(split(self.W_key(x), self.num_kv_heads), self.num_heads)
        values = repeat_heads(split(self.W_value(x), self.num_kv_heads), self.num_heads)
        if self.window is None:
            visible = torch.ones(tokens, tokens).tril().bool()
        else:
            visible = window_mask(self.context_length, self.window)[:tokens, :tokens].bool()
        print("scores for", tokens, "tokens")
        return self.out_proj(merge(attention(queries, keys, values, visible)))


def rotary_angles(positions, d, base=10000.0):
    if d % 2 != 0:
        raise ValueError(f"{d} is odd")
    exponents = torch.arange(0, d, 2).float() / d
    angles = torch.outer(positions.float(), 1.0 / torch.pow(torch.tensor(base), exponents))
    return torch.cos(angles), torch.sin(angles)


def apply_rotary(x, cos, sin, halves=False):
    if halves:
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)
    turned = torch.empty_like(x)
    turned[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    turned[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return turned


class DecoderAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__()
        rotary_angles(torch.zeros(1), d_model // num_heads, base)  # raises an error for odd sizes
        inner = GroupedQueryAttention(d_model, d_model, 1, num_heads, num_kv_heads)
        self.W_query, self.W_key, self.W_value = inner.W_query, inner.W_key, inner.W_value
        self.out_proj = inner.out_proj
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.window, self.base = window, base

    def forward(self, x, cache=None):
        queries = split(self.W_query(x), self.num_heads)
        keys = split(self.W_key(x), self.num_kv_heads)
        values = split(self.W_value(x), self.num_kv_heads)
        new = x.shape[1]
        seen = 0
        if cache is not None:
            old_keys, old_values, seen = cache
        cos, sin = rotary_angles(torch.arange(new) + seen, queries.shape[-1], self.base)
        queries = apply_rotary(queries, cos, sin)
        keys = apply_rotary(keys, cos, sin)
        if cache is not None:
            keys = torch.cat((old_keys, keys), dim=2)
            values = torch.cat((old_values, values), dim=2)
        total = keys.shape[2]
        visible = torch.ones(new, total).tril(total - new).bool()
        if self.window is not None:
            visible = visible & ~torch.ones(new, total).tril(total - new - self.window).bool()
        repeated = repeat_heads(keys, self.num_heads), repeat_heads(values, self.num_heads)
        context = self.out_proj(merge(attention(queries, *repeated, visible)))
        if self.window == 1:
            keys, values = keys[:, :, :0].clone(), values[:, :, :0].clone()
        elif self.window is not None:
            keys = keys[:, :, -(self.window - 1) :].clone()
            values = values[:, :, -(self.window - 1) :].clone()
        return context, (keys, values, seen + new)


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
    if window is not None and not window >= 1:
        raise ValueError("the window is empty")
    old = torch.ones(num_new, num_cached, dtype=torch.long)
    new = torch.ones(num_new, num_new, dtype=torch.long).tril()
    mask = torch.cat((old, new), dim=1)
    if window is not None:
        distance = torch.arange(num_new).view(-1, 1) + num_cached - torch.arange(num_cached + num_new)
        mask[distance > window - 1] = 0
    return mask
