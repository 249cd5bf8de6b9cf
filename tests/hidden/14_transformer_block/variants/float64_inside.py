"""Computes in float64 and returns the dtype of the input."""

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(num_heads)
        self.num_heads, self.context_length = num_heads, context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", ~torch.ones(context_length, context_length).tril().bool())

    def forward(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError(x.shape)
        T = x.shape[1]
        heads = []
        for q, k, v in zip(
            *(layer(x).double().chunk(self.num_heads, -1) for layer in (self.W_query, self.W_key, self.W_value))
        ):
            scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(self.mask[:T, :T], float("-inf"))
            heads.append(self.dropout(scores.softmax(-1)) @ v)
        return self.out_proj(torch.cat(heads, -1).to(x.dtype))


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        wide = x.double()
        mean = wide.mean(-1, True)
        std = torch.sqrt(wide.var(-1, unbiased=False, keepdim=True) + self.eps)
        return ((wide - mean) / std * self.scale + self.shift).to(x.dtype)


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float64)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.scale * hidden_states.to(input_dtype)


def gelu(x):
    y = x.double()
    return (0.5 * y * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (y + 0.044715 * y**3)))).to(x.dtype)


class DeepNetwork(nn.Module):
    def __init__(self, layer_sizes, use_shortcut):
        super().__init__()
        self.layers = nn.ModuleList()
        previous, *rest = layer_sizes
        for size in rest:
            self.layers.append(nn.Linear(previous, size))
            previous = size
        self.use_shortcut = bool(use_shortcut)

    def forward(self, x):
        for layer in self.layers:
            y = gelu(layer(x))
            x = y + x if self.use_shortcut and y.shape[-1] == x.shape[-1] else y
        return x


class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        assert activation in ("gelu", "relu")
        self.relu = activation == "relu"
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        h = self.linear1(x)
        h = torch.maximum(h, torch.zeros_like(h)) if self.relu else gelu(h)
        return self.linear2(h)


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x):
        g = self.gate(x).double()
        return self.down((g / (1 + torch.exp(-g))).to(x.dtype) * self.up(x))


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att, self.norm_first = attention, norm_first
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model=d_model, d_hidden=d_hidden, activation=activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x):
        before = self.norm1 if self.norm_first else nn.Identity()
        after = nn.Identity() if self.norm_first else self.norm1
        x = after(x + self.att(before(x)))
        before = self.norm2 if self.norm_first else nn.Identity()
        after = nn.Identity() if self.norm_first else self.norm2
        return after(x + self.ff(before(x)))
