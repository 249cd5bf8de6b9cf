"""Causal averaging: every token becomes the mean of itself and the tokens before it.

Shapes in this stage: B sequences in a batch, T tokens in each, C features per token; x is (B, T,
C). Weights are (T, T): row t holds the weight of each token in the mean of token t, and all
sequences of the batch use the same weights.

You compute the same mean three times: with a loop, with one matrix product, and with softmax over
masked scores. The third way has the form of attention. Its scores are zero; if they depended on the
tokens instead, each token could give different weights to the tokens before it.

Rules for this stage, which are graded like the results:

- Float32 inputs give a float32 result.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor


def causal_mean_loop(x: Tensor) -> Tensor:
    """Average each token with all tokens before it, in a loop: (B, T, C) -> (B, T, C).

    Row t of each sequence becomes the mean of its rows 0 to t, row t included. The sequences of the
    batch are independent of each other.
    """
    raise NotImplementedError


def averaging_weights(T: int) -> Tensor:
    """Return the weight of each token in each mean: (T, T), float32.

    Row t holds 1 / (t + 1) for tokens 0 to t and 0 for later tokens.
    """
    raise NotImplementedError


def causal_mean_matmul(x: Tensor) -> Tensor:
    """Average each token with all tokens before it, by a matrix product: (B, T, C) -> (B, T, C).

    Compute the means with a matrix product of weights and tokens (`@`, `bmm`, `einsum`), without a
    loop or a running sum.
    """
    raise NotImplementedError


def masked_softmax_weights(T: int) -> Tensor:
    """Compute the weights of ``averaging_weights`` with softmax: (T, T), float32.

    Start from scores of zero, put minus infinity where a token would attend to a later one, and
    take the softmax of each row. Hidden tokens get a weight of exactly 0. Compute the weights with
    a softmax of masked scores: torch's own, or one that you write out.
    """
    raise NotImplementedError


def causal_mean_softmax(x: Tensor) -> Tensor:
    """Average each token with all tokens before it, using softmax: (B, T, C) -> (B, T, C).

    Compute the means with a matrix product of weights and tokens (`@`, `bmm`, `einsum`), without a
    loop or a running sum. Compute the weights with a softmax of masked scores: torch's own, or one
    that you write out.
    """
    raise NotImplementedError
