"""Uses a large negative number for infinity, a boolean mask of the future, and bmm over the batch."""

import torch
from torch import nn


def causal_mean_loop(x):
    means = torch.empty(x.shape)
    for b, sequence in enumerate(x):
        for t in range(len(sequence)):
            means[b][t] = sum(sequence[: t + 1]) / (t + 1)
    return means


def averaging_weights(T):
    return torch.nn.functional.normalize(torch.ones(T, T).tril(), p=1, dim=-1)


def causal_mean_matmul(x):
    B, T, _ = x.size()
    weights = averaging_weights(T).to(x.dtype)
    return torch.bmm(weights.unsqueeze(0).expand(B, T, T), x)


def masked_softmax_weights(T):
    scores = torch.zeros(T, T)
    future = torch.triu(torch.ones(T, T, dtype=torch.bool), diagonal=1)
    scores[future] = -1e9
    return nn.Softmax(dim=1)(scores)


def causal_mean_softmax(x):
    B, T, _ = x.size()
    weights = masked_softmax_weights(T).repeat(B, 1, 1)
    return torch.bmm(weights, x)
