import torch
import torch.nn as nn


class SelfAttentionV1(nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        self.W_q = nn.Parameter(torch.randn(dimension_inputs, dimension_outputs), requires_grad=False)
        self.W_k = nn.Parameter(torch.randn(dimension_inputs, dimension_outputs), requires_grad=False)
        self.W_v = nn.Parameter(torch.randn(dimension_inputs, dimension_outputs), requires_grad=False)

    def forward(self, input_vectors):
        q = input_vectors @ self.W_q
        k = input_vectors @ self.W_k
        v = input_vectors @ self.W_v
        weights = torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1)
        return weights @ v


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        keys = x @ self.W_key
        queries = x @ self.W_query
        values = x @ self.W_value
        attn_scores = queries @ keys.T  # omega
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        attn_scores = queries @ keys.T
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values


def transfer_weights(source, target):
    if source.W_query.bias is not None:
        raise ValueError("v1 has no place for a bias")
    with torch.no_grad():
        target.W_query.copy_(source.W_query.weight.T)
        target.W_key.copy_(source.W_key.weight.T)
        target.W_value.copy_(source.W_value.weight.T)
