"""Uses plain loops where they are allowed, and the math module instead of torch."""

import math

import torch
from torch import nn


def sinusoidal_positions(length, d_model, base=10000.0):
    if d_model % 2 != 0:
        raise ValueError("d_model is odd")
    table = torch.zeros((length, d_model))
    for p in range(length):
        for i in range(0, d_model, 2):
            angle = p / math.pow(base, i / d_model)
            table[p, i] = math.sin(angle)
            table[p, i + 1] = math.cos(angle)
    return table


def rotary_angles(positions, d, base=10000.0):
    if d % 2 != 0:
        raise ValueError("d is odd")
    columns = [positions / base ** (2 * i / d) for i in range(d // 2)]
    return (
        torch.stack([torch.cos(angles) for angles in columns], dim=1),
        torch.stack([torch.sin(angles) for angles in columns], dim=1),
    )


def apply_rotary(x, cos, sin, halves=False):
    d = x.shape[-1]
    columns = [None] * d
    for i in range(d // 2):
        one, two = (i, i + d // 2) if halves else (2 * i, 2 * i + 1)
        columns[one] = x[..., one] * cos[:, i] - x[..., two] * sin[:, i]
        columns[two] = x[..., one] * sin[:, i] + x[..., two] * cos[:, i]
    return torch.stack(columns, dim=-1)


def alibi_slopes(num_heads):
    slopes = []
    power = 1
    while power <= num_heads:
        power *= 2
    power //= 2
    for h in range(num_heads):
        if h < power:
            slopes.append(2.0 ** (-8.0 * (h + 1) / power))
        else:
            slopes.append(2.0 ** (-4.0 * (2 * (h - power) + 1) / power))
    return torch.tensor(slopes)


def alibi_bias(num_heads, num_queries, num_keys):
    bias = torch.zeros(num_heads, num_queries, num_keys)
    for h, slope in enumerate(alibi_slopes(num_heads)):
        for i in range(num_queries):
            for j in range(num_keys):
                bias[h, i, j] = -slope * (num_keys - num_queries + i - j)
    return bias


class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.head_dim = d_out // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("odd head size")
        self.num_heads, self.context_length, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        T = x.shape[1]
        if T > self.context_length:
            raise ValueError("too many tokens")
        d = self.head_dim
        cos, sin = rotary_angles(torch.arange(offset, offset + T), d, self.base)
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        mask = torch.triu(torch.ones(T, T), diagonal=1).bool()
        heads = []
        for h in range(self.num_heads):
            block = slice(h * d, (h + 1) * d)
            turned_q = apply_rotary(q[..., block], cos, sin)
            turned_k = apply_rotary(k[..., block], cos, sin)
            scores = torch.bmm(turned_q, turned_k.transpose(1, 2))
            scores = scores.masked_fill(mask, -torch.inf)
            heads.append(torch.bmm(torch.softmax(scores / math.sqrt(d), dim=-1), v[..., block]))
        return self.out_proj(torch.cat(heads, dim=-1))
