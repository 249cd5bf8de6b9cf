"""Has helpers, demos and prints at module level, and local names that other functions also use."""

import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(4, 3)
exponentials = torch.softmax(x, dim=0)  # a demo; the functions below have locals of the same name
total = torch.dot(x[0], x[1])


def softmax(values, axis=0):
    """Has the name of torch's softmax, but is the student's own function."""
    top = values.max(dim=axis, keepdim=True)[0]
    exponentials = torch.exp(values - top)
    return exponentials / torch.sum(exponentials, dim=axis, keepdim=True)


def dot_product(a, b, verbose=False):
    if len(a) != len(b):
        print("these two have different lengths")
        raise ValueError
    total = None
    for x, y in zip(a, b, strict=False):
        total = x * y if total is None else total + x * y
    if verbose:
        print(total)
    return total


def scores_for_query(inputs, query):
    scores = inputs.matmul(query)
    print("scores:", scores)
    return scores


def normalize_by_sum(scores):
    total = torch.sum(scores)
    return torch.true_divide(scores, total)


def softmax_naive(scores):
    attention_weights = torch.exp(scores)
    attention_weights = attention_weights / torch.sum(attention_weights)
    return attention_weights


def softmax_stable(scores, dim=-1):
    attention_weights = softmax(scores, axis=dim)
    return attention_weights


def context_vector(weights, inputs):
    context_vector = torch.zeros_like(inputs[0])
    for weight, token in zip(weights, inputs, strict=True):
        context_vector = context_vector + weight * token
    return context_vector


def attention_scores(inputs):
    keys = inputs.permute(1, 0)
    attention_scores = inputs @ keys
    return attention_scores


def attention_weights(scores, dim=-1):
    return F.softmax(scores, dim=dim)


def simple_self_attention(inputs):
    scores = attention_scores(inputs)
    print("scores", scores.shape)
    weights = attention_weights(scores)
    return torch.matmul(weights, inputs)


if __name__ == "__main__":
    print(simple_self_attention(x))
print("context:", simple_self_attention(x))
