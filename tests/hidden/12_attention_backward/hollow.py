"""Right names and shapes, but no computation: earns a fifth of the points at most."""

import torch


def cross_entropy_backward(logits, targets):
    return torch.zeros_like(logits)


def softmax_jacobian(weights):
    return torch.zeros(len(weights), len(weights), dtype=weights.dtype)


def softmax_backward(weights, grad_weights):
    return torch.zeros_like(weights)


def attention_backward(queries, keys, values, grad_context, scale=None, hidden=None):
    return torch.zeros_like(queries), torch.zeros_like(keys), torch.zeros_like(values)


def self_attention_backward(x, W_query, W_key, W_value, grad_context, scale=None):
    return tuple(torch.zeros_like(one) for one in (x, W_query, W_key, W_value))
