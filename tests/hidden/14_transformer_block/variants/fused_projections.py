"""One product for queries, keys and values; moments from sums; parts in containers."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError
        self.H = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.full((context_length, context_length), -1e9).triu(1))

    def forward(self, x):
        B, T, _ = x.shape
        layers = self.W_query, self.W_key, self.W_value
        qkv = x @ torch.cat([layer.weight for layer in layers]).T
        if self.W_query.bias is not None:
            qkv = qkv + torch.cat([layer.bias for layer in layers])
        q, k, v = qkv.view(B, T, 3, self.H, -1).permute(2, 0, 3, 1, 4)
        q, k, v = (part.flatten(0, 1) for part in (q, k, v))
        scores = torch.bmm(q / q.shape[-1] ** 0.5, k.transpose(1, 2)) + self.mask[:T, :T]
        context = torch.bmm(self.dropout(scores.softmax(-1)), v)
        return self.out_proj(context.view(B, self.H, T, -1).transpose(1, 2).flatten(2))


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        x = x - x.sum(-1, keepdim=True) / self.d_model
        return x / ((x * x).sum(-1, keepdim=True) / self.d_model + self.eps).sqrt() * self.scale + self.shift


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return self.scale * (x / (length**2 / x.shape[-1] + self.eps).sqrt())


class Gelu(nn.Module):
    forward = staticmethod(lambda x: gelu(x))


def gelu(x):
    cubed = torch.pow(x, 3).mul(0.044715).add(x)
    return torch.tanh(cubed * (2 / torch.pi) ** 0.5).add(1).mul(x).mul(0.5)


class DeepNetwork(nn.Module):
    def __init__(self, layer_sizes, use_shortcut):
        super().__init__()
        sizes = list(layer_sizes)
        self.use_shortcut = use_shortcut
        self.layers = nn.ModuleList(nn.Linear(*sizes[i : i + 2]) for i in range(len(sizes) - 1))

    def forward(self, x):
        for i in range(len(self.layers)):
            before = x
            x = gelu(self.layers[i](x))
            if self.use_shortcut and before.size() == x.size():
                x = x + before
        return x


class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        if activation == "gelu":
            self.act = Gelu()
        elif activation == "relu":
            self.act = nn.ReLU()
        else:
            raise ValueError("gelu or relu")
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        return nn.Sequential(self.linear1, self.act, self.linear2)(x)


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)
        self.silu = nn.SiLU()

    def forward(self, x):
        return (self.up(x) * self.silu(self.gate(x))) @ self.down.weight.T


class Shortcut(nn.Module):
    """Return x plus the result of *parts* for x."""

    def __init__(self, *parts):
        super().__init__()
        self.parts = nn.Sequential(*parts)

    def forward(self, x):
        return x + self.parts(x)


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            halves = [Shortcut(self.norm1, self.att), Shortcut(self.norm2, self.ff)]
        else:
            halves = [Shortcut(self.att), self.norm1, Shortcut(self.ff), self.norm2]
        return nn.Sequential(*halves)(x)
