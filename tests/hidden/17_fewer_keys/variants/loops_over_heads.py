"""Head by head: each head looks up the keys and values of its group."""

import torch
from torch import nn


def repeat_heads(x, num_heads):
    if num_heads % x.shape[1] > 0:
        raise ValueError
    size = num_heads // x.shape[1]
    return torch.stack([x[:, h // size] for h in range(num_heads)], dim=1)


def window_mask(length, window, sinks=0):
    if window < 1:
        raise ValueError
    mask = torch.zeros(length, length, dtype=torch.int64)
    for i in range(length):
        for j in range(i + 1):
            if i - j < window or j < sinks:
                mask[i, j] = 1
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
    per_token = 2 * head_size * num_kv_heads * num_layers * bytes_per_number
    if window is None:
        return per_token * context_length * batch_size
    return per_token * min(window, context_length) * batch_size


class Layers(nn.Module):
    """The four layers of both classes."""

    def __init__(self, d_in, d_out, num_heads, num_kv_heads):
        super().__init__()
        if num_heads * (d_out // num_heads) != d_out:
            raise ValueError
        if num_kv_heads * (num_heads // num_kv_heads) != num_heads:
            raise ValueError
        self.size = d_out // num_heads
        self.heads, self.kv_heads = num_heads, num_kv_heads
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, num_kv_heads * self.size, bias=False)
        self.W_value = nn.Linear(d_in, num_kv_heads * self.size, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)


class GroupedQueryAttention(Layers):
    def __init__(self, d_in, d_out, context_length, num_heads, num_kv_heads, window=None):
        super().__init__(d_in, d_out, num_heads, num_kv_heads)
        self.context_length, self.window = context_length, window

    def forward(self, x):
        T = x.shape[1]
        if T > self.context_length:
            raise ValueError
        queries = self.W_query(x).split(self.size, dim=-1)
        keys = self.W_key(x).split(self.size, dim=-1)
        values = self.W_value(x).split(self.size, dim=-1)
        i, j = torch.arange(T).unsqueeze(1), torch.arange(T).unsqueeze(0)
        hidden = j > i
        if self.window is not None:
            hidden |= i - j >= self.window
        contexts = []
        for h in range(self.heads):
            g = h // (self.heads // self.kv_heads)
            scores = queries[h] @ keys[g].transpose(1, 2) / self.size**0.5
            weights = scores.masked_fill(hidden, -float("inf")).softmax(dim=2)
            contexts.append(weights @ values[g])
        return self.out_proj(torch.cat(contexts, dim=-1))


class DecoderAttention(Layers):
    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__(d_model, d_model, num_heads, num_kv_heads)
        if self.size % 2:
            raise ValueError
        self.window, self.base = window, base

    def turned(self, x, start):
        """Rotate (B, T, d) by the positions from *start* on, pair by pair."""
        positions = torch.arange(start, start + x.shape[1])
        features = []
        for pair in range(self.size // 2):
            angle = positions / self.base ** (2 * pair / self.size)
            a, b = x[..., 2 * pair], x[..., 2 * pair + 1]
            features += [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()]
        return torch.stack(features, dim=-1)

    def forward(self, x, cache=None):
        T = x.shape[1]
        seen = cache[2] if cache else 0
        keys = torch.stack(
            [self.turned(part, seen) for part in self.W_key(x).split(self.size, dim=-1)], dim=1
        )
        values = torch.stack(self.W_value(x).split(self.size, dim=-1), dim=1)
        if cache:
            keys, values = (torch.cat(pair, dim=2) for pair in ((cache[0], keys), (cache[1], values)))
        K = keys.shape[2]
        i = torch.arange(T).unsqueeze(1) + K - T
        j = torch.arange(K).unsqueeze(0)
        hidden = j > i
        if self.window is not None:
            hidden |= j <= i - self.window
        contexts = []
        for h, query in enumerate(self.W_query(x).split(self.size, dim=-1)):
            g = h // (self.heads // self.kv_heads)
            scores = self.turned(query, seen) @ keys[:, g].transpose(1, 2) / self.size**0.5
            weights = scores.masked_fill(hidden, -float("inf")).softmax(dim=2)
            contexts.append(weights @ values[:, g])
        if self.window is not None and K > self.window - 1:
            start = K - (self.window - 1)
            keys, values = keys[:, :, start:], values[:, :, start:]
        return self.out_proj(torch.cat(contexts, dim=-1)), (keys, values, seen + T)


def rotary_angles(positions, d, base=10000.0):
    if d % 2:
        raise ValueError
    angles = [positions / base ** (2 * pair / d) for pair in range(d // 2)]
    return torch.stack([a.cos() for a in angles], -1), torch.stack([a.sin() for a in angles], -1)


def apply_rotary(x, cos, sin, halves=False):
    pairs = x.shape[-1] // 2
    features = [None] * (2 * pairs)
    for i in range(pairs):
        one, other = (i, i + pairs) if halves else (2 * i, 2 * i + 1)
        a, b = x[..., one], x[..., other]
        features[one] = a * cos[:, i] - b * sin[:, i]
        features[other] = a * sin[:, i] + b * cos[:, i]
    return torch.stack(features, dim=-1)


def extend_cache(cache, keys, values, window=None):
    if window is not None and window < 1:
        raise ValueError("no window")
    seen = 0
    k, v = [], []
    if cache is not None:
        k, v, seen = list(cache[0].unbind(2)), list(cache[1].unbind(2)), cache[2]
    k += keys.unbind(2)
    v += values.unbind(2)
    everything = torch.stack(k, 2), torch.stack(v, 2)
    while window is not None and len(k) >= window:
        k.pop(0)
        v.pop(0)
    if not k:
        empty = keys[:, :, :0]
        return everything, (empty, values[:, :, :0], seen + keys.shape[2])
    return everything, (torch.stack(k, 2), torch.stack(v, 2), seen + keys.shape[2])


def cached_mask(num_new, num_cached, window=None):
    if window is None:
        window = num_cached + num_new
    if window < 1:
        raise ValueError("at least one token")
    rows = []
    for query in range(num_cached, num_cached + num_new):
        rows.append([max(0, query - window + 1) <= key <= query for key in range(num_cached + num_new)])
    return torch.tensor(rows)
