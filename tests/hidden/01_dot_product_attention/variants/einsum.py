"""Computes every product with einsum."""

import torch


def dot_product(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def scores_for_query(inputs, query):
    return torch.einsum("td,d->t", inputs, query)


def normalize_by_sum(scores):
    return torch.einsum("t,->t", scores, 1 / torch.einsum("t->", scores))


def softmax_naive(scores):
    exponentials = scores.exp()
    return exponentials / torch.einsum("t->", exponentials)


def softmax_stable(scores, dim):
    exponentials = (scores - scores.max(dim, keepdim=True).values.detach()).exp()
    return exponentials / exponentials.sum(dim, keepdim=True)


def context_vector(weights, inputs):
    return torch.einsum("t,td->d", weights, inputs)


def attention_scores(inputs):
    return torch.einsum("id,jd->ij", inputs, inputs)


def attention_weights(scores):
    return torch.softmax(scores, -1)


def simple_self_attention(inputs):
    scores = torch.einsum("id,jd->ij", inputs, inputs)
    return torch.einsum("ij,jd->id", scores.softmax(dim=-1), inputs)
