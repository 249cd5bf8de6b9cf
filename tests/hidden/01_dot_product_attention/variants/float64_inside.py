"""Computes in float64 and casts back at the end."""

import torch


def dot_product(a, b):
    if len(a) - len(b):
        raise IndexError
    a = a.tolist() if hasattr(a, "tolist") else a
    b = b.tolist() if hasattr(b, "tolist") else b
    return float(sum(a[i] * b[i] for i in range(len(a))))


def scores_for_query(inputs, query):
    return (inputs.double() @ query.double()).float()


def normalize_by_sum(scores):
    wide = scores.double()
    return (wide / wide.sum()).to(scores.dtype)


def softmax_naive(scores):
    powers = torch.e ** scores.double()
    return (powers / powers.sum()).to(scores.dtype)


def softmax_stable(scores, dim):
    wide = scores.to(torch.float64)
    wide = wide - wide.amax(dim, keepdim=True)
    powers = torch.exp(wide)
    return torch.div(powers, powers.sum(dim, keepdim=True)).to(scores.dtype)


def context_vector(weights, inputs):
    return (weights.double() @ inputs.double()).to(inputs.dtype)


def attention_scores(inputs):
    wide = inputs.double()
    return (wide @ wide.mT).to(inputs.dtype)


def attention_weights(scores):
    return torch.softmax(scores.double(), dim=-1).to(scores.dtype)


def simple_self_attention(inputs):
    x = inputs.double()
    return (torch.softmax(x @ x.mT, dim=-1) @ x).to(inputs.dtype)
