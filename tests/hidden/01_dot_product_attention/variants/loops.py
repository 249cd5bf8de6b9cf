"""Uses loops and stacks wherever loops are allowed."""

import torch


def dot_product(a, b):
    if not len(a) == len(b):
        raise AssertionError
    products = []
    for i in range(len(a)):
        products.append(float(a[i]) * float(b[i]))
    total = 0
    while products:
        total = total + products.pop()
    return total


def scores_for_query(inputs, query):
    scores = []
    for token in inputs:
        score = torch.zeros(())
        for x, q in zip(token, query, strict=True):
            score = score + x * q
        scores.append(score)
    return torch.stack(scores)


def normalize_by_sum(scores):
    total = 0.0
    for score in scores:
        total = total + score
    return torch.stack([score / total for score in scores])


def softmax_naive(scores):
    exponentials = [torch.exp(score) for score in scores]
    return torch.stack([e / sum(exponentials) for e in exponentials])


def softmax_stable(scores, dim):
    slices = scores.unbind(dim)
    largest = slices[0]
    for other in slices[1:]:
        largest = torch.maximum(largest, other)
    exponentials = [torch.exp(one - largest) for one in slices]
    return torch.stack([e / sum(exponentials) for e in exponentials], dim=dim)


def context_vector(weights, inputs):
    mixed = torch.zeros(inputs.shape[1])
    for t in range(inputs.shape[0]):
        mixed = mixed + weights[t] * inputs[t]
    return mixed


def attention_scores(inputs):
    return torch.matmul(inputs, inputs.t())


def attention_weights(scores):
    rows = []
    for row in scores:
        rows.append(torch.softmax(row, dim=0))
    return torch.stack(rows)


def simple_self_attention(inputs):
    context = torch.empty(inputs.shape, dtype=inputs.dtype)
    for i in range(inputs.shape[0]):
        weights = torch.softmax(scores_for_query(inputs, inputs[i]), dim=0)
        context[i] = context_vector(weights, inputs)
    return context
