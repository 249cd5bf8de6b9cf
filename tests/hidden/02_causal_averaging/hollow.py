"""Zeros of the right shapes."""

import torch


def causal_mean_loop(x):
    return torch.zeros(x.shape)


def averaging_weights(T):
    return torch.zeros(T, T)


def causal_mean_matmul(x):
    return torch.zeros(x.shape)


def masked_softmax_weights(T):
    return torch.zeros(T, T)


def causal_mean_softmax(x):
    return torch.zeros(x.shape)
