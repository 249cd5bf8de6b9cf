"""The right names and shapes, an error where one is required, and zeros."""

import torch
from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        self.d_out = dimension_outputs
        for name in ("W_q", "W_k", "W_v"):
            zeros = torch.zeros(dimension_inputs, dimension_outputs)
            setattr(self, name, nn.Parameter(zeros, requires_grad=False))

    def forward(self, input_vectors):
        return torch.zeros(len(input_vectors), self.d_out)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.d_out = d_out
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Parameter(torch.zeros(d_in, d_out)))

    def forward(self, x):
        return torch.zeros(len(x), self.d_out)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        for name in ("W_query", "W_key", "W_value"):
            layer = nn.Linear(d_in, d_out, bias=qkv_bias)
            nn.init.zeros_(layer.weight)
            setattr(self, name, layer)

    def forward(self, x):
        return torch.zeros(len(x), self.d_out)


def transfer_weights(source, target):
    if source.W_query.bias is not None:
        raise ValueError
