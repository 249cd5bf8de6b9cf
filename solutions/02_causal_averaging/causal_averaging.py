"""Causal averaging: every token becomes the mean of itself and the tokens before it.

Shapes in this stage: B sequences in a batch, T tokens in each, C features per token; x is (B, T,
C). Weights are (T, T): row t holds the weight of each token in the mean of token t, and all
sequences of the batch use the same weights.

You compute the same mean three times: with a loop, with one matrix product, and with softmax over
masked scores. The third way has the form of attention. Its scores are zero; if they depended on the
tokens instead, each token could give different weights to the tokens before it.
"""

import torch
from torch import Tensor


def causal_mean_loop(x: Tensor) -> Tensor:
    """Average each token with all tokens before it, in a loop: (B, T, C) -> (B, T, C).

    Row t of each sequence becomes the mean of its rows 0 to t, row t included. The sequences of the
    batch are independent of each other.
    """
    ### BEGIN SOLUTION
    B, T, _ = x.shape
    means = torch.zeros_like(x)
    for b in range(B):
        for t in range(T):
            past = x[b, : t + 1]  # (t + 1, C), token t included
            means[b, t] = past.mean(dim=0)
    return means
    ### END SOLUTION


def averaging_weights(T: int) -> Tensor:
    """Return the weight of each token in each mean: (T, T), float32.

    Row t holds 1 / (t + 1) for tokens 0 to t and 0 for later tokens.
    """
    ### BEGIN SOLUTION
    visible = torch.tril(torch.ones(T, T))
    return visible / visible.sum(dim=1, keepdim=True)
    ### END SOLUTION


def causal_mean_matmul(x: Tensor) -> Tensor:
    """Average each token with all tokens before it, by a matrix product: (B, T, C) -> (B, T, C)."""
    ### BEGIN SOLUTION
    T = x.shape[1]
    visible = torch.tril(torch.ones(T, T))
    weights = visible / visible.sum(dim=1, keepdim=True)  # (T, T)
    return weights @ x  # (T, T) @ (B, T, C) -> (B, T, C)
    ### END SOLUTION


def masked_softmax_weights(T: int) -> Tensor:
    """Compute the weights of ``averaging_weights`` with softmax: (T, T), float32.

    Start from scores of zero, put minus infinity where a token would attend to a later one, and
    take the softmax of each row. Hidden tokens get a weight of exactly 0.
    """
    ### BEGIN SOLUTION
    visible = torch.tril(torch.ones(T, T))
    scores = torch.zeros(T, T)
    scores = scores.masked_fill(visible == 0, float("-inf"))
    return torch.softmax(scores, dim=-1)
    ### END SOLUTION


def causal_mean_softmax(x: Tensor) -> Tensor:
    """Average each token with all tokens before it, using softmax: (B, T, C) -> (B, T, C)."""
    ### BEGIN SOLUTION
    T = x.shape[1]
    visible = torch.tril(torch.ones(T, T))
    scores = torch.zeros(T, T)
    scores = scores.masked_fill(visible == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)  # (T, T)
    return weights @ x  # (B, T, C)
    ### END SOLUTION
