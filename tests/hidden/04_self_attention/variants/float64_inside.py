"""Computes in float64, and casts the input and the output."""

import torch
from torch import nn


def attend(q, k, v, dtype):
    q, k, v = q.double(), k.double(), v.double()
    weights = torch.softmax(q @ k.mT / k.shape[-1] ** 0.5, dim=-1)
    return (weights @ v).to(dtype)


class SelfAttentionV1(nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        size = (dimension_inputs, dimension_outputs)
        self.W_q = nn.Parameter(torch.randn(size)).requires_grad_(False)
        self.W_k = nn.Parameter(torch.randn(size)).requires_grad_(False)
        self.W_v = nn.Parameter(torch.randn(size)).requires_grad_(False)

    def forward(self, input_vectors):
        x = input_vectors.to(torch.float64)
        q, k, v = (x @ W.double() for W in (self.W_q, self.W_k, self.W_v))
        return attend(q, k, v, input_vectors.dtype)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.empty(d_in, d_out).uniform_())
        self.W_key = nn.Parameter(torch.empty(d_in, d_out).uniform_())
        self.W_value = nn.Parameter(torch.empty(d_in, d_out).uniform_())

    def forward(self, x):
        return attend(x @ self.W_query, x @ self.W_key, x @ self.W_value, x.dtype)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        return attend(self.W_query(x), self.W_key(x), self.W_value(x), x.dtype)


def transfer_weights(source, target):
    if len(source.state_dict()) > 3:
        raise ValueError("a bias")
    weights = {key: value.t().clone() for key, value in source.state_dict().items()}
    target.load_state_dict({key.replace(".weight", ""): value for key, value in weights.items()})
