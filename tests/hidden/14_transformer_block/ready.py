"""The parts of stage 14 by torch's ready-made attention, norms and GELU."""

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError
        self.num_heads, self.p, self.context_length = num_heads, dropout, context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError
        heads = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        p = self.p if self.training else 0.0
        context = F.scaled_dot_product_attention(*heads, dropout_p=p, is_causal=True)
        return self.out_proj(context.transpose(1, 2).flatten(2))


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return F.layer_norm(x, self.scale.shape, self.scale, self.shift, self.eps)


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return F.rms_norm(x, self.scale.shape, self.scale, self.eps)


def gelu(x):
    return F.gelu(x, approximate="tanh")


class DeepNetwork(nn.Module):
    def __init__(self, layer_sizes, use_shortcut):
        super().__init__()
        self.use_shortcut = use_shortcut
        self.layers = nn.ModuleList(map(nn.Linear, layer_sizes[:-1], layer_sizes[1:]))

    def forward(self, x):
        for layer in self.layers:
            output = F.gelu(layer(x), approximate="tanh")
            x = x + output if self.use_shortcut and x.shape == output.shape else output
        return x


class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        self.activation = {"gelu": nn.GELU(approximate="tanh"), "relu": nn.ReLU()}[activation]
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        return self.linear2(self.activation(self.linear1(x)))


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x):
        gate = self.gate(x)
        return self.down(F.glu(torch.cat((gate, gate), dim=-1)) * self.up(x))


class Norm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return F.layer_norm(x, self.scale.shape, self.scale, self.shift)


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = Norm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = Norm(d_model)

    def forward(self, x):
        if self.norm_first:
            x = x + self.att(self.norm1(x))
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.att(x))
        return self.norm2(x + self.ff(x))
