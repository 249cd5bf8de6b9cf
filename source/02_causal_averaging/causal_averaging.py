"""Causal averaging: every token becomes the mean of itself and the tokens before it.

Shapes in this stage: B sequences in a batch, T tokens in each, C features per token; x is
(B, T, C). Weights are (T, T), row t says how much token t takes from each token, and serve every
sequence of the batch.

The same mean three times: by a loop, by one matrix product, and by softmax over masked scores.
The third is the shape of attention: put scores that depend on the tokens where the zeros are, and
each token decides for itself which of its predecessors count.
"""

import torch
from torch import Tensor


def causal_mean_loop(x: Tensor) -> Tensor:
    """Average each token with all tokens before it, in a loop: (B, T, C) -> (B, T, C).

    Row t of each sequence is the mean of its rows 0 to t, row t included. Sequences of the batch
    have nothing to do with each other.
    """
    raise NotImplementedError


def averaging_weights(T: int) -> Tensor:
    """Tell how much each token counts in each mean: (T, T), float32.

    Row t holds 1 / (t + 1) for the tokens 0 to t and 0 for those after it.
    """
    raise NotImplementedError


def causal_mean_matmul(x: Tensor) -> Tensor:
    """Average each token with all tokens before it, by a matrix product: (B, T, C) -> (B, T, C)."""
    raise NotImplementedError


def masked_softmax_weights(T: int) -> Tensor:
    """Make the same weights by softmax: (T, T), float32.

    Start from scores of zero, put minus infinity where a token would look at a later one, and take
    the softmax of each row: what is hidden gets a weight of exactly 0.
    """
    raise NotImplementedError


def causal_mean_softmax(x: Tensor) -> Tensor:
    """Average each token with all tokens before it, by softmax weights: (B, T, C) -> (B, T, C)."""
    raise NotImplementedError
