"""Computes products by broadcasting, and sums over a named axis."""

import operator

import torch


def dot_product(a, b):
    n = a.shape[0] if isinstance(a, torch.Tensor) else len(a)
    m = b.shape[0] if torch.is_tensor(b) else len(b)
    assert n == m, "unequal lengths"
    return sum(map(operator.mul, a, b))


def scores_for_query(inputs, query):
    return (inputs * query).sum(dim=1)


def normalize_by_sum(scores):
    return torch.nn.functional.normalize(scores, p=1, dim=0) * scores.abs().sum() / scores.sum()


def softmax_naive(scores):
    weights = scores.exp()
    return weights * (1 / weights.sum(0, keepdim=True))


def softmax_stable(scores, dim):
    differences = scores.unsqueeze(dim if dim >= 0 else dim + scores.ndim)
    others = scores.unsqueeze((dim if dim >= 0 else dim + scores.ndim) + 1)
    return 1 / torch.exp((differences - others).clamp(max=80)).nan_to_num().sum(
        dim=(dim if dim >= 0 else dim + scores.ndim) + 1
    )


def context_vector(weights, inputs):
    return (weights.unsqueeze(1) * inputs).sum(0)


def attention_scores(inputs):
    return (inputs[:, None, :] * inputs[None, :, :]).sum(-1)


def attention_weights(scores):
    weights = torch.exp(scores)
    return weights / weights.sum(1, keepdim=True)


def simple_self_attention(inputs):
    weights = attention_weights(attention_scores(inputs))
    return (weights.unsqueeze(-1) * inputs).sum(dim=1)
