"""Every product and every mean is an einsum."""

import torch
from torch import einsum, nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("num_heads must divide d_out")
        self.heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril().bool())

    def forward(self, x):
        T = x.size(1)
        if T > self.mask.size(0):
            raise ValueError("too many tokens")
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.W_query, self.W_key, self.W_value))
        scores = einsum("bqhd,bkhd->bhqk", q, k) * q.size(-1) ** -0.5
        weights = scores.where(self.mask[:T, :T], -torch.inf).softmax(-1)
        return self.out_proj(einsum("bhqk,bkhd->bqhd", self.drop(weights), v).flatten(2))


def mean_of_products(x, y):
    return einsum("...d,...d->...", x, y).div(x.shape[-1])[..., None]


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        centered = x - mean_of_products(x, torch.ones_like(x))
        variance = mean_of_products(centered, centered)
        return einsum("...d,d->...d", centered * (variance + self.eps) ** -0.5, self.scale) + self.shift


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x):
        return einsum("...d,d->...d", x * (mean_of_products(x, x) + self.eps).rsqrt(), self.scale)


def gelu(x):
    return x * torch.sigmoid(2 * (2 / torch.pi) ** 0.5 * (x + 0.044715 * x * x * x))


class DeepNetwork(nn.Module):
    def __init__(self, layer_sizes, use_shortcut):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(layer_sizes, layer_sizes[1:])])
        self.shortcuts = [use_shortcut and a == b for a, b in zip(layer_sizes, layer_sizes[1:])]

    def forward(self, x):
        for layer, shortcut in zip(self.layers, self.shortcuts):
            hidden = gelu(einsum("...i,oi->...o", x, layer.weight) + layer.bias)
            x = hidden + x * shortcut if shortcut else hidden
        return x


class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        self.act = {"gelu": gelu, "relu": lambda x: x.clamp(min=0)}[activation]  # a KeyError refuses other names
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        hidden = self.act(einsum("...i,hi->...h", x, self.linear1.weight) + self.linear1.bias)
        return einsum("...h,ih->...i", hidden, self.linear2.weight) + self.linear2.bias


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.gate, self.up = (nn.Linear(d_model, d_hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x):
        gate, up = (einsum("...i,hi->...h", x, layer.weight) for layer in (self.gate, self.up))
        return einsum("...h,...h,...h,ih->...i", gate, torch.sigmoid(gate), up, self.down.weight)


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att, self.norm_first = attention, norm_first
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)

    def forward(self, x):
        for part, norm in ((self.att, self.norm1), (self.ff, self.norm2)):
            x = x + part(norm(x)) if self.norm_first else norm(x + part(x))
        return x
