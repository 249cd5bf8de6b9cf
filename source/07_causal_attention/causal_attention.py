"""Causal attention: two ways to hide the future, and a module that trains with dropout.

Shapes in this stage: B items in the batch, T tokens in each, d_in features per token, d_out
features per query, key, value and context vector. The two functions work on one sequence, without
a batch axis. Rows of a (T, T) matrix are queries, columns are keys.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so use no in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor, nn


def mask_then_renormalize(weights: Tensor) -> Tensor:
    """Hide the future in attention weights, after softmax: (T, T) -> (T, T).

    The rows of *weights* sum to one. Token i may only attend to tokens 0 to i: the weights of later
    tokens become zero, and each row is divided by its remaining sum, so that it sums to one again.
    The caller's *weights* must not change. The number of tensor operations must not grow with the
    number of tokens.
    """
    raise NotImplementedError


def mask_with_infinity(scores: Tensor, d_k: int) -> Tensor:
    """Turn raw scores into causal attention weights with one softmax: (T, T) -> (T, T).

    *scores* are the dot products of queries and keys, not scaled yet; *d_k* is the size of a key.
    Set the scores of later tokens to minus infinity, divide the others by the square root of *d_k*,
    and take the softmax. This gives the same weights as masking and normalising them again.
    The caller's *scores* must not change. The number of tensor operations must not grow with the
    number of tokens.
    """
    raise NotImplementedError


class CausalAttention(nn.Module):
    """Batched self-attention that hides the future, with dropout on its weights.

    Layers, created in this order, each an ``nn.Linear`` from d_in to d_out features, with a bias
    only if *qkv_bias* is true: W_query, W_key, W_value. *dropout* is the probability with which an
    attention weight, after softmax, is set to zero in training; the others are divided by
    1 - dropout. Register a buffer ``mask`` as well; you choose what it holds, for example ones
    above the diagonal of a (context_length, context_length) matrix. Your code must not set a seed:
    the caller sets it. Torch's own attention functions and layers (`nn.MultiheadAttention`, ...)
    are not allowed. As a buffer, the mask moves with the module and is not trained.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Mix the values of the tokens up to each token: (B, T, d_in) -> (B, T, d_out).

        Token i mixes the values of tokens 0 to i by its causal attention weights. Works for any T
        up to context_length, with a number of tensor operations that does not grow with T. Raises
        ``ValueError`` if T is above context_length. In eval mode nothing is dropped.
        """
        raise NotImplementedError
