"""Zeros of the right shapes, and an error where one is required."""

import torch


def dot_product(a, b):
    if len(a) != len(b):
        raise ValueError
    return 0.0


def scores_for_query(inputs, query):
    return torch.zeros(inputs.shape[0])


def normalize_by_sum(scores):
    return torch.zeros(scores.shape)


def softmax_naive(scores):
    return torch.zeros(scores.shape)


def softmax_stable(scores, dim):
    return torch.zeros(scores.shape)


def context_vector(weights, inputs):
    return torch.zeros(inputs.shape[1])


def attention_scores(inputs):
    return torch.zeros(inputs.shape[0], inputs.shape[0])


def attention_weights(scores):
    return torch.zeros(scores.shape)


def simple_self_attention(inputs):
    return torch.zeros(inputs.shape)
