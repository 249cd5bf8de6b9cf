"""The documents' own style: two axes, `.T`, `dim=1`, keys before queries, sizes as attributes."""

import torch
import torch.nn as nn


class SelfAttentionV1(nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        self.W_q = torch.nn.Parameter(
            torch.randn(dimension_inputs, dimension_outputs), requires_grad=False
        )
        self.W_k = torch.nn.Parameter(
            torch.randn(dimension_inputs, dimension_outputs), requires_grad=False
        )
        self.W_v = torch.nn.Parameter(
            torch.randn(dimension_inputs, dimension_outputs), requires_grad=False
        )

    def forward(self, input_vectors):
        q = input_vectors @ self.W_q
        k = input_vectors @ self.W_k
        v = input_vectors @ self.W_v
        omega = q @ k.T
        dimension_keys = k.shape[-1]
        percents = torch.softmax(omega / (dimension_keys**0.5), dim=-1)
        contexts = percents @ v
        return contexts


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        k = x @ self.W_key
        q = x @ self.W_query
        v = x @ self.W_value
        omega = q @ k.T
        w = torch.softmax(omega / k.shape[-1] ** 0.5, dim=-1)
        z = w @ v
        return z


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        k = self.W_key(x)
        q = self.W_query(x)
        v = self.W_value(x)
        omega = q @ k.T
        w = torch.softmax(omega / k.shape[-1] ** 0.5, dim=1)
        z = w @ v
        return z


def transfer_weights(source, target):
    if source.W_query.bias is not None:
        raise ValueError("no place for a bias")
    target.W_query = torch.nn.Parameter(source.W_query.weight.T.clone())
    target.W_key = torch.nn.Parameter(source.W_key.weight.T.clone())
    target.W_value = torch.nn.Parameter(source.W_value.weight.T.clone())
