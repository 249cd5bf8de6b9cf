"""Uses one forward method for all classes, which inherit it."""

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def forward(self, x):
        q, k, v = self.project(x)
        scores = torch.bmm(q[None], k[None].permute(0, 2, 1))
        weights = F.softmax(scores / torch.sqrt(torch.tensor(k.shape[-1])), dim=-1)
        return torch.bmm(weights, v[None]).squeeze(0)


class SelfAttention_v1(Attention):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def project(self, x):
        return x @ self.W_query, x @ self.W_key, x @ self.W_value


class SelfAttentionV1(SelfAttention_v1):
    def __init__(self, dimension_inputs, dimension_outputs):
        nn.Module.__init__(self)
        self.W_q = nn.Parameter(torch.randn(dimension_inputs, dimension_outputs), requires_grad=False)
        self.W_k = nn.Parameter(torch.randn(dimension_inputs, dimension_outputs), requires_grad=False)
        self.W_v = nn.Parameter(torch.randn(dimension_inputs, dimension_outputs), requires_grad=False)

    def project(self, x):
        return x @ self.W_q, x @ self.W_k, x @ self.W_v


class SelfAttention_v2(Attention):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def project(self, x):
        return self.W_query(x), self.W_key(x), self.W_value(x)


def transfer_weights(source, target):
    if any("bias" in name for name in source.state_dict()):
        raise ValueError("the source has a bias")
    target.W_query.data = source.W_query.weight.data.T.clone()
    target.W_key.data = source.W_key.weight.data.T.clone()
    target.W_value.data = source.W_value.weight.data.T.clone()
