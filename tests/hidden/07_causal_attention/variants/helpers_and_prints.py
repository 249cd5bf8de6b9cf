"""Has helpers, a base class, a demo that prints and seeds, and dropout by a Bernoulli draw."""

import torch
from torch import nn

torch.manual_seed(123)


def future(size):
    return torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=1)


def scaled_dot_product_attention(q, k, v, hidden, drop):
    weights = torch.softmax((q @ k.transpose(-2, -1)).masked_fill(hidden, -torch.inf) / k.shape[-1] ** 0.5, -1)
    return drop(weights) @ v


def mask_then_renormalize(weights):
    result = weights.clone()
    result[future(len(weights))] = 0
    result /= result.sum(dim=-1, keepdim=True)
    return result


def mask_with_infinity(scores, d_k):
    result = scores.clone()
    result[future(len(scores))] = -torch.inf
    print("masked", result.shape)
    return nn.Softmax(dim=-1)(result / d_k**0.5)


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)


class CausalAttention(SelfAttention):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, qkv_bias)
        self.register_buffer("mask", future(context_length))
        self.register_buffer("stay", torch.tensor(1.0 - dropout))

    def drop(self, weights):
        if not self.training:
            return weights
        return torch.bernoulli(self.stay.expand(weights.shape)) * weights / self.stay

    def forward(self, x):
        n = x.shape[1]
        if n > self.mask.shape[0]:
            raise ValueError(f"{n} is too long")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return scaled_dot_product_attention(q, k, v, self.mask[:n, :n], self.drop)


print(CausalAttention(3, 2, 6, 0.5)(torch.rand(2, 6, 3)))
