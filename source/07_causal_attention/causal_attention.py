"""Causal attention: two ways to hide the future, and a module that trains with dropout.

Shapes in this stage: B items in the batch, T tokens in each, d_in features per token, d_out
features per query, key, value and context vector. The two functions work on one sequence, without
a batch axis. The rows of a (T, T) matrix are queries, and its columns are keys.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor, nn


def mask_then_renormalize(weights: Tensor) -> Tensor:
    """Hide the future in attention weights, after softmax: (T, T) -> (T, T).

    The rows of *weights* sum to one. Token i may attend only to tokens 0 to i. Set the weights of
    later tokens to zero, and divide each row by its remaining sum, so that it sums to one again.
    The caller's *weights* must not change. The number of tensor operations must not grow with the
    number of tokens.
    """
    raise NotImplementedError


def mask_with_infinity(scores: Tensor, d_k: int) -> Tensor:
    """Turn raw scores into causal attention weights with one softmax: (T, T) -> (T, T).

    *scores* are the unscaled dot products of queries and keys, and *d_k* is the size of a key. Set
    the scores of later tokens to minus infinity, divide the others by the square root of *d_k*, and
    take the softmax of each row. The result equals ``mask_then_renormalize`` of the softmax of all
    scaled scores. The caller's *scores* must not change. The number of tensor operations must not
    grow with the number of tokens.
    """
    raise NotImplementedError


class CausalAttention(nn.Module):
    """Batched self-attention that hides the future, with dropout on its weights.

    Create the layers W_query, W_key and W_value in this order, each an ``nn.Linear`` from d_in to
    d_out features, with a bias only if *qkv_bias* is true. In training, each attention weight is
    set to zero after softmax with probability *dropout*, and the remaining weights are divided by
    1 - dropout. Also register a buffer ``mask``. You choose its contents, for example ones above
    the diagonal of a (context_length, context_length) matrix. Your code must not set a seed: the
    caller sets it. Torch's own attention functions and layers (`nn.MultiheadAttention`, ...) are
    not allowed. The mask is a buffer: it moves with the module and is not trained.
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
        """Mix the values up to each token: (B, T, d_in) -> (B, T, d_out).

        The context vector of token i is the sum of the values of tokens 0 to i, weighted by its
        causal attention weights. Works for any T up to context_length. The number of tensor
        operations does not grow with T. Raises ``ValueError`` if T is above context_length. In
        eval mode, nothing is dropped.
        """
        raise NotImplementedError
