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
    e = scores.exp()
    return e / e.sum(dim=dim, keepdim=True)


def context_vector(weights, inputs):
    context = torch.zeros(inputs.shape[1])
    for i, x_i in enumerate(inputs):
        context = context + weights[i] * x_i
    return context


def attention_scores(inputs):
    return inputs @ inputs.T


def attention_weights(scores):
    return scores / scores.sum(dim=-1, keepdim=True)


def simple_self_attention(inputs):
    return attention_weights(attention_scores(inputs)) @ inputs
