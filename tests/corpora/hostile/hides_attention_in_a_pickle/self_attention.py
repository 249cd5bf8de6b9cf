"""Finds ready-made attention by a pickle, which names it in bytes."""

import pickle

import torch
from torch import nn

ATTEND = pickle.loads(b"ctorch.nn.functional\nscaled_dot_product_attention\n.")


class SelfAttentionV1(nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        shape = (dimension_inputs, dimension_outputs)
        self.W_q = nn.Parameter(torch.randn(shape), requires_grad=False)
        self.W_k = nn.Parameter(torch.randn(shape), requires_grad=False)
        self.W_v = nn.Parameter(torch.randn(shape), requires_grad=False)

    def forward(self, input_vectors):
        queries, keys = input_vectors @ self.W_q, input_vectors @ self.W_k
        values = input_vectors @ self.W_v
        return ATTEND(queries, keys, values)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return ATTEND(queries, keys, values)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        return ATTEND(queries, keys, values)
