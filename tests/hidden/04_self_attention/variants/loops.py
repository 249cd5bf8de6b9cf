"""Processes one query and one key at a time."""

import torch
from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        self.W_q = nn.Parameter(torch.randn(dimension_inputs, dimension_outputs), False)
        self.W_k = nn.Parameter(torch.randn(dimension_inputs, dimension_outputs), False)
        self.W_v = nn.Parameter(torch.randn(dimension_inputs, dimension_outputs), False)

    def forward(self, input_vectors):
        contexts = []
        for x_i in input_vectors:
            query = x_i @ self.W_q
            scores = torch.stack([torch.dot(query, x_j @ self.W_k) for x_j in input_vectors])
            weights = torch.softmax(scores / len(query) ** 0.5, dim=0)
            contexts.append(sum(w * (x_j @ self.W_v) for w, x_j in zip(weights, input_vectors)))
        return torch.stack(contexts)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        keys, values = x @ self.W_key, x @ self.W_value
        contexts = torch.zeros(len(x), values.shape[1]).to(x)
        for i in range(len(x)):
            scores = keys @ (x[i] @ self.W_query)
            weights = torch.softmax(scores / keys.shape[1] ** 0.5, dim=0)
            contexts[i] = (weights[:, None] * values).sum(dim=0)
        return contexts


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        rows = []
        for x_i in x:
            scores = [self.W_query(x_i).dot(self.W_key(x_j)) for x_j in x]
            weights = torch.softmax(torch.stack(scores) / self.W_key.out_features**0.5, dim=0)
            rows.append(weights @ self.W_value(x))
        return torch.stack(rows)


def transfer_weights(source, target):
    if source.W_query.bias is not None or source.W_key.bias is not None:
        raise ValueError("bias")
    with torch.no_grad():
        for i in range(target.W_query.shape[0]):
            for j in range(target.W_query.shape[1]):
                target.W_query[i, j] = source.W_query.weight[j, i]
                target.W_key[i, j] = source.W_key.weight[j, i]
                target.W_value[i, j] = source.W_value.weight[j, i]
