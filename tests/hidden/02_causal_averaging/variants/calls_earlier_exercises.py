"""Calls the earlier exercises of the stage, and otherwise does what the solution does."""

import torch


def causal_mean_loop(x):
    B, T, _ = x.shape
    means = torch.zeros_like(x)
    for b in range(B):
        for t in range(T):
            past = x[b, : t + 1]  # (t + 1, C), token t included
            means[b, t] = past.mean(dim=0)
    return means


def averaging_weights(T):
    visible = torch.tril(torch.ones(T, T))
    return visible / visible.sum(dim=1, keepdim=True)


def causal_mean_matmul(x):
    T = x.shape[1]
    weights = averaging_weights(T)  # (T, T)
    return weights @ x  # (T, T) @ (B, T, C) -> (B, T, C)


def masked_softmax_weights(T):
    visible = torch.tril(torch.ones(T, T))
    scores = torch.zeros(T, T)
    scores = scores.masked_fill(visible == 0, float("-inf"))
    return torch.softmax(scores, dim=-1)


def causal_mean_softmax(x):
    T = x.shape[1]
    weights = masked_softmax_weights(T)  # (T, T)
    return weights @ x  # (B, T, C)
