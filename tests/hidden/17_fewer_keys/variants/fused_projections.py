"""One product for queries, keys and values; hidden scores get a large negative number."""

import torch
import torch.nn.functional as F
from torch import nn


def repeat_heads(x, num_heads):
    G = x.size(1)
    if num_heads % G != 0:
        raise ValueError("num_heads must be a multiple of the heads of x")
    return x[:, torch.arange(num_heads) // (num_heads // G)]


def window_mask(length, window, sinks=0):
    if window <= 0:
        raise ValueError("window must be positive")
    rows = [
        [int(j <= i and (i - j < window or j < sinks)) for j in range(length)]
        for i in range(length)
    ]
    return torch.tensor(rows)


def cache_bytes(
    context_length,
    head_size,
    num_kv_heads,
    num_layers,
    bytes_per_number=2,
    batch_size=1,
    window=None,
):
    if window is not None and window < context_length:
        context_length = window
    keys = context_length * head_size * num_kv_heads * num_layers * batch_size
    return (keys + keys) * bytes_per_number


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, num_kv_heads, window=None):
        super().__init__()
        if d_out % num_heads != 0 or num_heads % num_kv_heads != 0:
            raise ValueError("numbers of heads must divide")
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, num_kv_heads * self.head_dim, bias=False)
        self.W_value = nn.Linear(d_in, num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)
        mask = window_mask(context_length, window if window is not None else context_length)
        self.register_buffer("mask", mask.bool())

    def project(self, x):
        """Return the heads of queries, keys and values."""
        B, T, _ = x.shape
        layers = (self.W_query, self.W_key, self.W_value)
        together = F.linear(x, torch.cat([layer.weight for layer in layers]))
        sizes = [layer.out_features for layer in layers]
        return [
            part.view(B, T, -1, self.head_dim).transpose(1, 2)
            for part in together.split(sizes, dim=-1)
        ]

    def attend(self, queries, keys, values, visible):
        """Attend, merge and project."""
        keys, values = repeat_heads(keys, self.num_heads), repeat_heads(values, self.num_heads)
        scores = torch.matmul(queries / self.head_dim**0.5, keys.mT)
        scores = torch.where(visible, scores, torch.tensor(-1e9, dtype=scores.dtype))
        context = torch.matmul(F.softmax(scores, dim=-1), values)
        return self.out_proj(context.permute(0, 2, 1, 3).flatten(2))

    def forward(self, x):
        T = x.shape[1]
        if T > len(self.mask):
            raise ValueError("the text is longer than the context")
        return self.attend(*self.project(x), self.mask[:T, :T])


class DecoderAttention(GroupedQueryAttention):
    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__(d_model, d_model, 1, num_heads, num_kv_heads, None)
        if self.head_dim % 2 != 0:
            raise ValueError("rotation needs pairs of features")
        self.window = window
        self.register_buffer("inv_freq", 1.0 / base ** (torch.arange(0, self.head_dim, 2) / self.head_dim))

    def rope(self, x, positions):
        """Rotate pairs by x · cos + (each pair crossed) · sin."""
        angles = torch.outer(positions.float(), self.inv_freq.float()).repeat_interleave(2, dim=-1)
        crossed = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)
        return x * angles.cos().to(x.dtype) + crossed * angles.sin().to(x.dtype)

    def forward(self, x, cache=None):
        queries, keys, values = self.project(x)
        T = x.shape[1]
        past = cache[2] if cache is not None else 0
        positions = past + torch.arange(T)
        queries, keys = self.rope(queries, positions), self.rope(keys, positions)
        if cache is not None:
            keys = torch.cat([cache[0], keys], dim=-2)
            values = torch.cat([cache[1], values], dim=-2)
        key_positions = torch.arange(past + T)[past + T - keys.shape[-2] :]
        back = positions.unsqueeze(1) - key_positions.unsqueeze(0)
        visible = (back >= 0) & (back < (self.window or past + T + 1))
        context = self.attend(queries, keys, values, visible)
        if self.window is not None:
            drop = max(0, keys.shape[-2] - self.window + 1)
            keys, values = keys[..., drop:, :], values[..., drop:, :]
        return context, (keys, values, past + T)


def rotary_angles(positions, d, base=10000.0):
    if d % 2:
        raise ValueError("d is odd")
    angles = torch.stack([positions * base ** (-2 * i / d) for i in range(d // 2)], dim=1)
    return angles.cos(), angles.sin()


def apply_rotary(x, cos, sin, halves=False):
    first = list(range(x.size(-1) // 2)) if halves else list(range(0, x.size(-1), 2))
    second = [i + x.size(-1) // 2 if halves else i + 1 for i in first]
    turned = x.clone()
    turned[..., first] = x[..., first] * cos - x[..., second] * sin
    turned[..., second] = x[..., first] * sin + x[..., second] * cos
    return turned


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
    if window is None:
        window = num_cached + num_new
    if window < 1:
        raise ValueError("at least one token")
    rows = []
    for query in range(num_cached, num_cached + num_new):
        rows.append([max(0, query - window + 1) <= key <= query for key in range(num_cached + num_new)])
    return torch.tensor(rows)
