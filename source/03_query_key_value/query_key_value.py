"""Queries, keys and values: the steps of attention with trainable weights.

Shapes in this stage: T tokens, d_in features per token, d_k features per query and key, d_v
features per value. ``draw_weights`` uses one size, d_out, for queries, keys and values. There is no
batch axis yet: inputs are (T, d_in), and context vectors are (T, d_v). Row i belongs to token i. In
scores and attention weights, row i belongs to query i.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor, nn


def draw_weights(
    d_in: int, d_out: int, distribution: str = "rand"
) -> tuple[nn.Parameter, nn.Parameter, nn.Parameter]:
    """Draw the three weight matrices and return them as (W_query, W_key, W_value).

    Each is an ``nn.Parameter`` of shape (d_in, d_out), float32, with ``requires_grad=False``. Draw
    one matrix after the other, in this order: with ``torch.rand`` if *distribution* is "rand", and
    with ``torch.randn`` if it is "randn". The caller sets the seed; this function does not. Raises
    ``ValueError`` for any other distribution.
    """
    raise NotImplementedError


def project(inputs: Tensor, weight: Tensor) -> Tensor:
    """Turn inputs into queries, keys or values: (T, d_in), (d_in, d_out) -> (T, d_out).

    A single input vector works too: (d_in,), (d_in, d_out) -> (d_out,).
    """
    raise NotImplementedError


def attention_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Compute the dot products of queries and keys, without scaling.

    All queries with all keys: (T, d), (T, d) -> (T, T), where row i holds the scores of query i.
    One query with all keys: (d,), (T, d) -> (T,).
    """
    raise NotImplementedError


def attention_weights(scores: Tensor, d_k: int) -> Tensor:
    """Divide scores by the square root of *d_k*, the key size, and turn them into weights.

    The scores of all queries: (T, T) -> (T, T), where each row sums to 1.
    The scores of one query: (T,) -> (T,).
    """
    raise NotImplementedError


def context_vectors(weights: Tensor, values: Tensor) -> Tensor:
    """Mix the values of all tokens by their attention weights: (T, T), (T, d_v) -> (T, d_v).

    The weights of one query alone give one context vector: (T,), (T, d_v) -> (d_v,).
    """
    raise NotImplementedError


def self_attention(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Tensor:
    """Compute context vectors from inputs with all steps of attention: (T, d_in) -> (T, d_v).

    *W_query* and *W_key* have shape (d_in, d_k), and *W_value* has shape (d_in, d_v).
    """
    raise NotImplementedError
