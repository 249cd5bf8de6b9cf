"""Everything is computed in float64 and rounded at the end; matrices rotate the pairs."""

import torch
from torch import nn


def repeat_heads(x, num_heads):
    G = x.shape[1]
    if num_heads < G or num_heads % G:
        raise ValueError("uneven share")
    members = (torch.arange(num_heads)[:, None] // (num_heads // G) == torch.arange(G)).double()
    return torch.einsum("hg,bgtd->bhtd", members, x.double()).to(x.dtype)


def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError("no window")
    back = torch.arange(length).view(-1, 1) - torch.arange(length).view(1, -1)
    near = torch.logical_and(back >= 0, back < window)
    old = torch.logical_and(back >= 0, torch.arange(length) < sinks)
    return torch.logical_or(near, old).double()


def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    shape = (2, num_layers, batch_size, num_kv_heads, context_length, head_size)
    if window is not None:
        shape = (*shape[:4], min(window, context_length), head_size)
    return torch.Size(shape).numel() * bytes_per_number


def attend(queries, keys, values, visible):
    """Compute (B, H, T, d) in float64, from H heads of queries and G of keys and values."""
    H = queries.shape[1]
    keys, values = (repeat_heads(part, H).double() for part in (keys, values))
    scores = queries.double() @ keys.mT / queries.shape[-1] ** 0.5
    scores = scores + torch.zeros_like(scores).masked_fill(visible == 0, float("-inf"))
    return scores.softmax(-1) @ values


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, num_kv_heads, window=None):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out is not a multiple of num_heads")
        if num_heads % num_kv_heads:
            raise ValueError("num_heads is not a multiple of num_kv_heads")
        self.sizes = num_heads, num_kv_heads, d_out // num_heads
        self.context_length, self.window = context_length, window
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, num_kv_heads * (d_out // num_heads), bias=False)
        self.W_value = nn.Linear(d_in, num_kv_heads * (d_out // num_heads), bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def heads(self, x):
        H, G, d = self.sizes
        given = zip((self.W_query, self.W_key, self.W_value), (H, G, G), strict=True)
        return [layer(x).unflatten(-1, (n, d)).movedim(2, 1) for layer, n in given]

    def forward(self, x):
        T = x.shape[1]
        if T > self.context_length:
            raise ValueError("too many tokens")
        visible = window_mask(T, self.window if self.window else T)
        context = attend(*self.heads(x), visible).movedim(1, 2).flatten(2)
        return self.out_proj(context.to(x.dtype))


class DecoderAttention(GroupedQueryAttention):
    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__(d_model, d_model, 0, num_heads, num_kv_heads, window)
        if (d_model // num_heads) % 2:
            raise ValueError("a head needs pairs")
        self.base = base

    def rotated(self, x, positions):
        d = x.shape[-1]
        angles = positions[:, None].double() / self.base ** (torch.arange(0, d, 2).double() / d)
        cos, sin = angles.cos(), angles.sin()
        matrices = torch.stack((cos, -sin, sin, cos), dim=-1).unflatten(-1, (2, 2))
        pairs = x.double().unflatten(-1, (d // 2, 2, 1))
        return (matrices @ pairs).flatten(-3).to(x.dtype)

    def forward(self, x, cache=None):
        queries, keys, values = self.heads(x)
        past = () if cache is None else cache[:2]
        seen = cache[2] if past else 0
        positions = torch.arange(seen, seen + x.shape[1])
        queries, keys = self.rotated(queries, positions), self.rotated(keys, positions)
        if past:
            keys = torch.cat((past[0], keys), 2)
            values = torch.cat((past[1], values), 2)
        K, T = keys.shape[2], x.shape[1]
        visible = window_mask(K, self.window if self.window else K)[K - T :]
        context = attend(queries, keys, values, visible).movedim(1, 2).flatten(2)
        kept = K if self.window is None else min(K, self.window - 1)
        cache = keys.narrow(2, K - kept, kept), values.narrow(2, K - kept, kept), seen + T
        return self.out_proj(context.to(x.dtype)), cache


def rotary_angles(positions, d, base=10000.0):
    if d % 2:
        raise ValueError("a head needs pairs")
    angles = positions[:, None].double() / base ** (torch.arange(0, d, 2).double() / d)
    return angles.cos().float(), angles.sin().float()


def apply_rotary(x, cos, sin, halves=False):
    cos, sin, d = cos.double(), sin.double(), x.shape[-1]
    matrices = torch.stack((cos, -sin, sin, cos), dim=-1).unflatten(-1, (2, 2))
    shape = (2, d // 2) if halves else (d // 2, 2)
    pairs = x.double().unflatten(-1, shape)
    pairs = (pairs.mT if halves else pairs).unsqueeze(-1)
    turned = (matrices @ pairs).squeeze(-1)
    return (turned.mT if halves else turned).flatten(-2).to(x.dtype)


def extend_cache(cache, keys, values, window=None):
    if window is not None and window < 1:
        raise ValueError("no window")
    new = keys.shape[-2]
    total = new
    if cache:
        past_keys, past_values, total = cache
        total = total + new
        keys = torch.concat((past_keys, keys), 2)
        values = torch.concat((past_values, values), 2)
    held = keys.shape[-2]
    stay = held if window is None else min(held, window - 1)
    cut = [part.narrow(2, held - stay, stay).clone() for part in (keys, values)]
    return [keys, values], [*cut, total]


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
