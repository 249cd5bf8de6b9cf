"""Heads by index, bands by products of triangles, and an internal cache that is a dictionary."""

import torch
import torch.nn as nn


def repeat_heads(x, num_heads):
    groups = x.shape[1]
    if num_heads % groups != 0:
        raise ValueError
    index = torch.repeat_interleave(torch.arange(groups), num_heads // groups)
    return torch.index_select(x, 1, index)


def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError
    causal = torch.tril(torch.ones(length, length, dtype=torch.int))
    mask = torch.triu(causal, diagonal=1 - window)
    return torch.where(torch.arange(length) < sinks, causal, mask)


def cache_bytes(
    context_length, head_size, num_kv_heads, num_layers, bytes_per_number=2, batch_size=1, window=None
):
    if window is None:
        window = context_length
    positions = len(range(context_length)[-window:])
    return positions * batch_size * (num_layers * 2) * (num_kv_heads * head_size) * bytes_per_number


def project(layer, x, heads):
    B, T, _ = x.shape
    return (x @ layer.weight.T).reshape(B, T, heads, -1).swapaxes(1, 2)


def mixed(query, key, value, keep):
    size = query.shape[-1]
    att = (query * size**-0.25) @ (key * size**-0.25).swapaxes(-2, -1)
    att = att.masked_fill(keep == 0, torch.finfo(att.dtype).min)
    att = att - att.max(dim=-1, keepdim=True).values.detach()
    att = att.exp() * keep
    return (att / att.sum(dim=-1, keepdim=True)) @ value


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, num_kv_heads, window=None):
        super().__init__()
        if d_out % num_heads:
            raise ValueError
        if num_heads % num_kv_heads:
            raise ValueError
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.window, self.context_length = window, context_length
        width = d_out // num_heads * num_kv_heads
        self.W_query, self.W_key, self.W_value = (
            nn.Linear(d_in, size, bias=False) for size in (d_out, width, width)
        )
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        B, T, _ = x.shape
        if T > self.context_length:
            raise ValueError
        query = project(self.W_query, x, self.num_heads)
        key = repeat_heads(project(self.W_key, x, self.num_kv_heads), self.num_heads)
        value = repeat_heads(project(self.W_value, x, self.num_kv_heads), self.num_heads)
        keep = window_mask(T, T if self.window is None else min(self.window, T))
        return self.out_proj(mixed(query, key, value, keep).swapaxes(1, 2).reshape(B, T, -1))


class DecoderAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__()
        if d_model % (2 * num_heads) or num_heads % num_kv_heads:
            raise ValueError
        self.attention = [GroupedQueryAttention(d_model, d_model, 1, num_heads, num_kv_heads)]
        for name, layer in self.attention[0].named_children():
            setattr(self, name, layer)
        self.num_heads, self.num_kv_heads, self.window, self.base = (
            num_heads,
            num_kv_heads,
            window,
            base,
        )

    def rope(self, x, first):
        T, d = x.shape[-2:]
        angles = torch.arange(first, first + T)[:, None] / self.base ** (torch.arange(0, d, 2) / d)
        # The pairs become halves, are rotated, and become pairs again.
        halves = torch.cat((x[..., ::2], x[..., 1::2]), dim=-1)
        swapped = torch.cat((-x[..., 1::2], x[..., ::2]), dim=-1)
        turned = halves * angles.cos().repeat(1, 2) + swapped * angles.sin().repeat(1, 2)
        return turned.unflatten(-1, (2, d // 2)).swapaxes(-2, -1).flatten(-2)

    def forward(self, x, cache=None):
        B, T, D = x.shape
        state = dict(zip(("key", "value", "seen"), cache, strict=True)) if cache is not None else {}
        first = state.get("seen", 0)
        query = self.rope(project(self.W_query, x, self.num_heads), first)
        key = self.rope(project(self.W_key, x, self.num_kv_heads), first)
        value = project(self.W_value, x, self.num_kv_heads)
        if state:
            key = torch.concat((state["key"], key), dim=-2)
            value = torch.concat((state["value"], value), dim=-2)
        K = key.shape[-2]
        everything = torch.ones(T, K, dtype=torch.int)
        keep = everything.tril(K - T)
        if self.window is not None:
            keep = keep * everything.triu(K - T + 1 - self.window)
        heads = repeat_heads(key, self.num_heads), repeat_heads(value, self.num_heads)
        context = mixed(query, *heads, keep).swapaxes(1, 2).reshape(B, T, D)
        if self.window is not None:
            kept = torch.arange(K)[K - min(K, self.window - 1) :]
            key, value = key[:, :, kept], value[:, :, kept]
        return self.out_proj(context), (key, value, first + T)


def rotary_angles(positions, d, base=10000.0):
    if d % 2:
        raise ValueError
    angles = positions.reshape(-1, 1) / base ** (torch.arange(0, d, 2) / d)
    return torch.cos(angles), torch.sin(angles)


def apply_rotary(x, cos, sin, halves=False):
    d = x.shape[-1]
    if not halves:
        x = torch.cat((x[..., ::2], x[..., 1::2]), dim=-1)
    swapped = torch.cat((-x[..., d // 2 :], x[..., : d // 2]), dim=-1)
    turned = x * cos.repeat(1, 2) + swapped * sin.repeat(1, 2)
    return turned if halves else turned.unflatten(-1, (2, d // 2)).swapaxes(-2, -1).flatten(-2)


def extend_cache(cache, keys, values, window=None):
    if window is not None and window < 1:
        raise ValueError(window)
    B, G, T, d = keys.shape
    C = 0 if cache is None else cache[0].shape[2]
    everything = []
    for place, new in enumerate((keys, values)):
        room = new.new_zeros(B, G, C + T, d)
        if C:
            room[:, :, :C] = cache[place]
        room[:, :, C:] = new
        everything.append(room)
    first = max(C + T - window + 1, 0) if window else 0
    kept = tuple(room[..., first:, :] for room in everything)
    return tuple(everything), kept + ((cache[2] if cache else 0) + T,)


def cached_mask(num_new, num_cached, window=None):
    if window is not None and window < 1:
        raise ValueError("window")
    mask = torch.ones(num_new, num_cached + num_new).tril(num_cached)
    return mask if window is None else mask.triu(num_cached - window + 1)
