"""Uses cosines and sines for all features with rotate_half, as in Hugging Face's code."""

import math

import torch
from torch import nn


def sinusoidal_positions(length, d_model, base=10000.0):
    if d_model % 2 == 1:
        raise ValueError("d_model must be even")
    pe = torch.zeros(length, d_model)
    position = torch.arange(0, length, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(base) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def rotary_angles(positions, d, base=10000.0):
    if d % 2:
        raise ValueError("d must be even")
    inv_freq = 1.0 / (base ** (torch.arange(0, d, 2, dtype=torch.int64).float() / d))
    freqs = (inv_freq[:, None] @ positions[None, :].float()).transpose(0, 1)
    return freqs.cos(), freqs.sin()


def rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def rotate_every_two(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)


def apply_rotary(x, cos, sin, halves=False):
    if halves:
        cos, sin = torch.cat((cos, cos), dim=-1), torch.cat((sin, sin), dim=-1)
        return (x * cos) + (rotate_half(x) * sin)
    cos, sin = cos.repeat_interleave(2, dim=-1), sin.repeat_interleave(2, dim=-1)
    return (x * cos) + (rotate_every_two(x) * sin)


def alibi_slopes(num_heads):
    closest = 2 ** math.floor(math.log2(num_heads))
    base = torch.tensor(2 ** (-(2 ** -(math.log2(closest) - 3))), dtype=torch.float32)
    slopes = torch.pow(base, torch.arange(1, 1 + closest, dtype=torch.int32))
    if closest != num_heads:
        extra = torch.tensor(2 ** (-(2 ** -(math.log2(2 * closest) - 3))), dtype=torch.float32)
        remaining = min(closest, num_heads - closest)
        powers = torch.arange(1, 1 + 2 * remaining, 2, dtype=torch.int32)
        slopes = torch.cat([slopes, torch.pow(extra, powers)], dim=0)
    return slopes


def alibi_bias(num_heads, num_queries, num_keys):
    q = torch.arange(num_queries)[:, None] + num_keys - num_queries
    k = torch.arange(num_keys)[None, :]
    bias = -alibi_slopes(num_heads).view(-1, 1, 1) * (q - k).abs()
    return bias.masked_fill(k > q, float("-inf"))


class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads or (d_out // num_heads) % 2:
            raise ValueError("heads do not fit")
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.scaling = self.head_dim**-0.5
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)
        inv_freq = 1.0 / (base ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim))
        self.register_buffer("inv_freq", inv_freq, persistent=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x, offset=0):
        bsz, q_len, _ = x.size()
        if q_len > self.mask.size(0):
            raise ValueError("too long")
        shape = (bsz, q_len, self.num_heads, self.head_dim)
        q = self.W_query(x).view(shape).transpose(1, 2)
        k = self.W_key(x).view(shape).transpose(1, 2)
        v = self.W_value(x).view(shape).transpose(1, 2)
        t = torch.arange(offset, offset + q_len, dtype=self.inv_freq.dtype)
        freqs = torch.einsum("i,j->ij", t, self.inv_freq).repeat_interleave(2, dim=-1)
        cos, sin = freqs.cos()[None, None], freqs.sin()[None, None]
        q = q * cos + rotate_every_two(q) * sin
        k = k * cos + rotate_every_two(k) * sin
        att = torch.matmul(q, k.transpose(2, 3)) * self.scaling
        att = att.masked_fill(self.mask[:q_len, :q_len] == 0, torch.finfo(att.dtype).min)
        att = nn.functional.softmax(att, dim=-1)
        out = torch.matmul(att, v).transpose(1, 2).contiguous().reshape(bsz, q_len, -1)
        return self.out_proj(out)
