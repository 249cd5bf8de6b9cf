"""Functions do the work: modules hold parameters, and F.linear and var_mean compute."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn


def attend(queries, keys, values, visible, dropout):
    scores = torch.matmul(queries, keys.mT).div(math.sqrt(queries.shape[-1]))
    scores = scores + torch.where(visible, 0.0, -torch.inf).to(scores.dtype)
    return F.dropout(F.softmax(scores, -1), *dropout) @ values


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("uneven heads")
        self.num_heads, self.p = num_heads, dropout
        for name in ("W_query", "W_key", "W_value"):
            self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.out_proj = nn.Linear(d_out, d_out)
        self.register_buffer("mask", torch.arange(context_length))

    def forward(self, x):
        T = x.shape[-2]
        if T > len(self.mask):
            raise ValueError("too long")
        positions = self.mask[:T]
        parts = (layer(x).unflatten(-1, (self.num_heads, -1)).movedim(-2, 1) for layer in (self.W_query, self.W_key, self.W_value))
        context = attend(*parts, positions[:, None] >= positions, (self.p, self.training))
        return self.out_proj(context.movedim(1, -2).flatten(-2))


def normalize(x, eps, centered):
    if centered:
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + eps)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.normalize = partial(normalize, eps=eps, centered=True)
        self.register_parameter("scale", nn.Parameter(torch.ones(d_model)))
        self.register_parameter("shift", nn.Parameter(torch.zeros(d_model)))

    def forward(self, x):
        return torch.addcmul(self.shift, self.normalize(x), self.scale)


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.normalize = partial(normalize, eps=eps, centered=False)
        self.scale = nn.Parameter(torch.full((d_model,), 1.0))

    def forward(self, x):
        return self.normalize(x) * self.scale


def gelu(x):
    root = math.sqrt(2 / math.pi)
    return x / 2 * (torch.tanh(x * (root + root * 0.044715 * x.square())) + 1)


class DeepNetwork(nn.Module):
    def __init__(self, layer_sizes, use_shortcut):
        super().__init__()
        self.use_shortcut = use_shortcut
        self.layers = nn.ModuleList(map(nn.Linear, layer_sizes[:-1], layer_sizes[1:]))

    def forward(self, x):
        def step(x, layer):
            out = gelu(F.linear(x, layer.weight, layer.bias))
            return out + x if self.use_shortcut and layer.in_features == layer.out_features else out

        for layer in self.layers:
            x = step(x, layer)
        return x


class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        match activation:
            case "gelu":
                self.activate = gelu
            case "relu":
                self.activate = F.relu
            case _:
                raise ValueError(f"unknown activation {activation}")
        self.linear1, self.linear2 = nn.Linear(d_model, d_hidden), nn.Linear(d_hidden, d_model)

    def forward(self, x):
        x = F.linear(x, self.linear1.weight, self.linear1.bias)
        return F.linear(self.activate(x), self.linear2.weight, self.linear2.bias)


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden, False)
        self.up = nn.Linear(d_model, d_hidden, False)
        self.down = nn.Linear(d_hidden, d_model, False)

    def forward(self, x):
        both = F.linear(x, torch.cat([self.gate.weight, self.up.weight]))
        gate, up = both.chunk(2, dim=-1)
        return F.linear(F.silu(gate) * up, self.down.weight)


def pre_norm(part, norm, x):
    return x + part(norm(x))


def post_norm(part, norm, x):
    return norm(x + part(x))


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.around = pre_norm if norm_first else post_norm

    def forward(self, x):
        return self.around(self.ff, self.norm2, self.around(self.att, self.norm1, x))
