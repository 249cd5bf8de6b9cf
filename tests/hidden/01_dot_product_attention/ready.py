"""The dot product and both softmaxes by torch's ready-made functions."""

import torch


def dot_product(a, b):
    if len(a) != len(b):
        raise ValueError("unequal lengths")
    return torch.dot(torch.as_tensor(a), torch.as_tensor(b)).item()


def softmax_naive(scores):
    return torch.softmax(scores, dim=0)


def softmax_stable(scores, dim):
    return torch.softmax(scores, dim=dim)
