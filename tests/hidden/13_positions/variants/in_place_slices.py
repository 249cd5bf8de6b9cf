"""Fills results slice by slice, computes in float64, and renormalizes weights after the mask."""

import torch
from torch import nn


def sinusoidal_positions(length, d_model, base=10000.0):
    if d_model % 2 != 0:
        raise ValueError("odd")
    i = torch.arange(d_model, dtype=torch.float64)
    exponent = 2 * torch.div(i, 2, rounding_mode="floor") / d_model
    angles = torch.arange(length, dtype=torch.float64).view(-1, 1) / base**exponent
    angles[:, 1::2] += torch.pi / 2
    return angles.sin().float()


def rotary_angles(positions, d, base=10000.0):
    if d % 2 != 0:
        raise ValueError("odd")
    pairs = torch.arange(d // 2, dtype=torch.float64)
    angles = positions.double()[:, None] * torch.tensor(base).double() ** (-2 * pairs / d)
    return torch.cos(angles).float(), torch.sin(angles).float()


def apply_rotary(x, cos, sin, halves=False):
    half = x.size(-1) // 2
    first, second = (slice(half), slice(half, None)) if halves else (slice(0, None, 2), slice(1, None, 2))
    turned = torch.empty_like(x)
    turned[..., first] = x[..., first] * cos - x[..., second] * sin
    turned[..., second] = x[..., second] * cos + x[..., first] * sin
    return turned


def alibi_slopes(num_heads):
    n = 1
    while n < num_heads:
        n *= 2
    every = 0.5 ** (8 * torch.arange(1, n + 1) / n)
    if n == num_heads:
        return every
    return torch.cat((every[1::2], every[0::2][: num_heads - n // 2]))


def alibi_bias(num_heads, num_queries, num_keys):
    back = torch.arange(num_keys - 1, -1, -1).expand(num_queries, -1)
    back = back - torch.arange(num_queries - 1, -1, -1)[:, None]
    return alibi_slopes(num_heads).mul(-1)[:, None, None] * back.clamp(min=0)


class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        self.h, self.d = num_heads, d_out // num_heads
        if self.h * self.d != d_out:
            raise ValueError("d_out is not divisible")
        if self.d % 2:
            raise ValueError("head size is odd")
        self.base, self.longest = base, context_length
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def _split(self, x):
        return x.reshape(*x.shape[:2], self.h, self.d).permute(0, 2, 1, 3)

    def forward(self, x, offset=0):
        b, t, _ = x.shape
        if t > self.longest:
            raise ValueError("the text is too long")
        cos, sin = rotary_angles(offset + torch.arange(t), self.d, self.base)
        q = apply_rotary(self._split(self.W_query(x)), cos, sin) * self.d**-0.5
        k = apply_rotary(self._split(self.W_key(x)), cos, sin)
        weights = (q @ k.mT).softmax(dim=-1).tril()
        weights = weights / weights.sum(dim=-1, keepdim=True)
        merged = (weights @ self._split(self.W_value(x))).permute(0, 2, 1, 3).reshape(b, t, -1)
        return self.out_proj(merged)
