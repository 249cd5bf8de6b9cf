import torch


def dot_product(a, b):
    if len(a) != len(b):
        raise ValueError("a and b need the same length")
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


def scores_for_query(inputs, query):
    scores = torch.empty(inputs.shape[0])
    for i, x_i in enumerate(inputs):
        scores[i] = torch.dot(x_i, query)
    return scores


def normalize_by_sum(scores):
    return scores / scores.sum()


def softmax_naive(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


def softmax_stable(scores, dim):
    raise NotImplementedError


def context_vector(weights, inputs):
    raise NotImplementedError


def attention_scores(inputs):
    raise NotImplementedError


def attention_weights(scores):
    raise NotImplementedError


def simple_self_attention(inputs):
    raise NotImplementedError
