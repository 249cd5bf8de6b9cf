"""Treats pairs as complex numbers, as in Llama's own code, and reorders the features for halves."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def sinusoidal_positions(length, d_model, base=10000.0):
    assert d_model % 2 == 0, "an odd number of features"
    theta = 1.0 / (base ** (torch.arange(0, d_model, 2).float() / d_model))
    turns = torch.polar(torch.ones(length, d_model // 2), torch.outer(torch.arange(length), theta))
    return torch.view_as_real(turns).flip(-1).flatten(-2)


def rotary_angles(positions, d, base=10000.0):
    assert d % 2 == 0, "an odd number of features"
    freqs = 1.0 / (base ** (torch.arange(0, d, 2)[: (d // 2)].float() / d))
    angles = torch.outer(positions.float(), freqs)
    freqs_cis = torch.polar(torch.ones_like(angles), angles)
    return freqs_cis.real, freqs_cis.imag


def apply_rotary(x, cos, sin, halves=False):
    freqs_cis = torch.complex(cos, sin)
    if halves:
        a, b = x.tensor_split(2, dim=-1)
        turned = torch.complex(a, b) * freqs_cis
        return torch.hstack((turned.real, turned.imag)) if x.ndim == 1 else torch.cat(
            (turned.real, turned.imag), dim=-1
        )
    x_ = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(x_ * freqs_cis).flatten(-2).type_as(x)


def alibi_slopes(num_heads):
    below = 1
    while below * 2 <= num_heads:
        below *= 2
    first = torch.pow(2.0, -8.0 * torch.arange(1, below + 1) / below)
    rest = torch.pow(2.0, -4.0 * torch.arange(1, 2 * (num_heads - below) + 1, 2) / below)
    return torch.cat((first, rest))


def alibi_bias(num_heads, num_queries, num_keys):
    i = torch.arange(num_queries).unsqueeze(1) + (num_keys - num_queries)
    j = torch.arange(num_keys).unsqueeze(0)
    return torch.einsum("h,ij->hij", alibi_slopes(num_heads), (j - i).float())


class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        assert d_out % num_heads == 0
        self.n_heads, self.head_dim, self.base = num_heads, d_out // num_heads, base
        assert self.head_dim % 2 == 0
        self.max_seq_len = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out, bias=True)

    def forward(self, x, offset=0):
        bsz, seqlen, _ = x.shape
        assert seqlen <= self.max_seq_len
        xq, xk, xv = (
            layer(x).view(bsz, seqlen, self.n_heads, self.head_dim)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        cos, sin = rotary_angles(torch.arange(offset, offset + seqlen), self.head_dim, self.base)
        freqs_cis = torch.complex(cos, sin).view(1, seqlen, 1, -1)
        xq, xk = (
            torch.view_as_real(
                torch.view_as_complex(one.float().reshape(*one.shape[:-1], -1, 2)) * freqs_cis
            )
            .flatten(3)
            .type_as(x)
            for one in (xq, xk)
        )
        xq, xk, xv = xq.transpose(1, 2), xk.transpose(1, 2), xv.transpose(1, 2)
        scores = torch.matmul(xq, xk.transpose(2, 3)) / self.head_dim**0.5
        mask = torch.full((seqlen, seqlen), float("-inf")).triu(1)
        scores = F.softmax((scores + mask).float(), dim=-1).type_as(xq)
        output = torch.matmul(scores, xv).transpose(1, 2).contiguous().view(bsz, seqlen, -1)
        return self.out_proj(output)
