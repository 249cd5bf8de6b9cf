"""Uses one product for queries, keys and values, einsum, and rotations as 2 by 2 matrices."""

import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positions(length, d_model, base=10000.0):
    cos, sin = rotary_angles(torch.arange(length), d_model, base)
    return torch.stack([sin, cos], dim=2).reshape(length, d_model)


def rotary_angles(positions, d, base=10000.0):
    if d & 1:
        raise ValueError(f"{d} is odd")
    frequencies = torch.logspace(0, -1, d // 2 + 1, base=base)[:-1]
    angles = torch.einsum("t,i->ti", positions.to(frequencies.dtype), frequencies)
    return angles.cos(), angles.sin()


def apply_rotary(x, cos, sin, halves=False):
    rotation = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2)
    d = x.shape[-1]
    if halves:
        pairs = x.unflatten(-1, (2, d // 2))
        return torch.einsum("tirc,...tci->...tri", rotation, pairs).flatten(-2)
    pairs = x.unflatten(-1, (d // 2, 2))
    return torch.einsum("tirc,...tic->...tir", rotation, pairs).flatten(-2)


def alibi_slopes(num_heads):
    def powers(n):
        start = 2 ** (-8 / n)
        return [start * start**i for i in range(n)]

    if num_heads & (num_heads - 1) == 0:
        return torch.tensor(powers(num_heads))
    closest = 1 << (num_heads.bit_length() - 1)
    return torch.tensor(powers(closest) + powers(2 * closest)[0::2][: num_heads - closest])


def alibi_bias(num_heads, num_queries, num_keys):
    square = torch.arange(num_keys)[None, :] - torch.arange(num_keys)[:, None]
    rows = square[num_keys - num_queries :].tril(num_keys - num_queries)
    return alibi_slopes(num_heads).reshape(-1, 1, 1) * rows


class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("uneven heads")
        if (d_out // num_heads) % 2:
            raise ValueError("odd heads")
        self.context_length, self.num_heads, self.base = context_length, num_heads, base
        self.W_query, self.W_key, self.W_value = (
            nn.Linear(d_in, d_out, bias=False) for _ in range(3)
        )
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        T = x.shape[1]
        if T > self.context_length:
            raise ValueError("too long")
        fused = torch.cat([self.W_query.weight, self.W_key.weight, self.W_value.weight])
        qkv = F.linear(x, fused).unflatten(-1, (3, self.num_heads, -1))
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        cos, sin = rotary_angles(torch.arange(T) + offset, q.shape[-1], self.base)
        cos, sin = cos.to(x), sin.to(x)
        q, k = apply_rotary(torch.stack((q, k)), cos, sin)
        scores = torch.einsum("bhid,bhjd->bhij", q, k) * q.shape[-1] ** -0.5
        i = torch.arange(T)
        weights = scores.where(i[:, None] >= i, -torch.inf).softmax(-1)
        return self.out_proj(torch.einsum("bhij,bhjd->bihd", weights, v).flatten(2))
