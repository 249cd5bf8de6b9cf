from math import sqrt

import torch
from torch import nn


def attend(q, k, v):
    """What the three classes share."""
    scores = torch.einsum("id,jd->ij", q, k) / sqrt(k.size(1))
    weights = scores.softmax(dim=1)
    return torch.einsum("ij,jd->id", weights, v)


class SelfAttentionV1(nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        for name in ("W_q", "W_k", "W_v"):
            drawn = torch.randn(dimension_inputs, dimension_outputs)
            self.register_parameter(name, nn.Parameter(drawn, requires_grad=False))

    def forward(self, input_vectors):
        return attend(*(input_vectors.matmul(w) for w in (self.W_q, self.W_k, self.W_v)))


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Parameter(torch.rand(d_in, d_out)) for _ in range(3))

    def forward(self, x):
        return attend(x.mm(self.W_query), x.mm(self.W_key), x.mm(self.W_value))


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)

    def forward(self, x):
        return attend(self.W_query(x), self.W_key(x), self.W_value(x))


def transfer_weights(source, target):
    for name in ("W_query", "W_key", "W_value"):
        linear = getattr(source, name)
        assert linear.bias is None, "the target knows no bias"
        getattr(target, name).data = linear.weight.detach().t().clone()
