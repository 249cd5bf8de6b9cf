"""Right names, shapes and errors, but no computation: earns a fifth of the points at most."""

import torch
from torch import nn


def sinusoidal_positions(length, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError
    return torch.zeros(length, d_model)


def rotary_angles(positions, d, base=10000.0):
    if d % 2:
        raise ValueError
    return torch.zeros(len(positions), d // 2), torch.zeros(len(positions), d // 2)


def apply_rotary(x, cos, sin, halves=False):
    return torch.zeros_like(x)


def alibi_slopes(num_heads):
    return torch.zeros(num_heads)


def alibi_bias(num_heads, num_queries, num_keys):
    return torch.zeros(num_heads, num_queries, num_keys)


class RotaryAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads or d_out // num_heads % 2:
            raise ValueError
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)
        self.d_out, self.context_length = d_out, context_length

    def forward(self, x, offset=0):
        if x.shape[1] > self.context_length:
            raise ValueError
        return torch.zeros(x.shape[0], x.shape[1], self.d_out)
