"""Computes all products with einsum, with names of axes instead of transposes."""

import math

import torch
from torch import einsum, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        for name in ("W_q", "W_k", "W_v"):
            drawn = torch.randn(dimension_inputs, dimension_outputs)
            self.register_parameter(name, nn.Parameter(drawn, requires_grad=False))

    def forward(self, input_vectors):
        q, k, v = (
            einsum("ti,io->to", input_vectors, w) for w in (self.W_q, self.W_k, self.W_v)
        )
        s = einsum("qo,ko->qk", q, k) / math.sqrt(k.size(-1))
        return einsum("qk,ko->qo", s.softmax(-1), v)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            self.register_parameter(name, nn.Parameter(torch.rand((d_in, d_out))))

    def forward(self, x):
        q = einsum("ti,io->to", x, self.W_query)
        k = einsum("ti,io->to", x, self.W_key)
        v = einsum("ti,io->to", x, self.W_value)
        s = einsum("qo,ko->qk", q, k) / math.sqrt(k.size(-1))
        return einsum("qk,ko->qo", nn.functional.softmax(s, dim=-1), v)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (
            nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)
        )

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        s = einsum("qo,ko->qk", q, k) * k.size(-1) ** -0.5
        return einsum("qk,ko->qo", nn.Softmax(dim=-1)(s), v)


def transfer_weights(source, target):
    for name in ("W_query", "W_key", "W_value"):
        layer = getattr(source, name)
        assert layer.bias is None, "no bias, please"
        getattr(target, name).data = einsum("oi->io", layer.weight.detach()).clone()
