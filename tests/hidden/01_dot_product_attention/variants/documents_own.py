"""The documents' own style: loops over `enumerate`, `torch.dot` into an empty tensor, `dim=1`."""

import torch


def dot_product(a, b):
    if len(a) != len(b):
        raise ValueError("one of the two is longer")
    res = 0.0
    for idx, _element in enumerate(a):
        res += a[idx] * b[idx]
    return res


def scores_for_query(inputs, query):
    attn_scores = torch.empty(inputs.shape[0])
    for i, x_i in enumerate(inputs):
        attn_scores[i] = torch.dot(x_i, query)
    return attn_scores


def normalize_by_sum(scores):
    return scores / scores.sum()


def softmax_naive(x):
    return torch.exp(x) / torch.exp(x).sum(dim=0)


def softmax_stable(x, dim):
    x = x - torch.max(x, dim=dim, keepdim=True)[0]
    return torch.exp(x) / torch.exp(x).sum(dim=dim, keepdim=True)


def context_vector(weights, inputs):
    context_vec = torch.zeros(inputs.shape[1])
    for i, x_i in enumerate(inputs):
        context_vec += weights[i] * x_i
    return context_vec


def attention_scores(inputs):
    return inputs @ inputs.T


def attention_weights(scores):
    return torch.softmax(scores, dim=1)


def simple_self_attention(inputs):
    attn_scores = inputs @ inputs.T
    attn_weights = torch.softmax(attn_scores, dim=1)
    return attn_weights @ inputs
