"""Queries, keys and values: attention with weights that can be trained, one step at a time.

Shapes in this stage: T tokens, d_in features per token, d_k features per query and key, d_v per
value; ``draw_weights`` gives all three the same width d_out. There is no batch axis yet: inputs are
(T, d_in), context vectors (T, d_v). Row i belongs to token i, and a row of scores or of attention
weights belongs to the query.

Rules, which are graded like the results:

- Results have the dtype of the floating-point tensors that go in: float32 stays float32, and
  float64 stays float64; a module gets `.double()` first. (All but draw_weights.)
- A call leaves its arguments as they were: no operation in place on what the caller passed. (All
  but draw_weights.)
- The right gradients flow back to every tensor argument and to every trainable parameter: nothing
  leaves torch's graph (`.detach()`, `.data`, `.item()`, `no_grad`). (All but draw_weights.)
- Documented values and general properties count as soon as the results are right for other inputs
  too.
"""

import torch
from torch import Tensor, nn


def draw_weights(
    d_in: int, d_out: int, distribution: str = "rand"
) -> tuple[nn.Parameter, nn.Parameter, nn.Parameter]:
    """Draw the three weight matrices and return them as (W_query, W_key, W_value).

    Each is an ``nn.Parameter`` of shape (d_in, d_out), float32, with ``requires_grad=False``. They
    are drawn one after the other, in this order, with ``torch.rand`` if *distribution* is "rand"
    and with ``torch.randn`` if it is "randn". The caller sets the seed, not this function. Raises
    ``ValueError`` on any other distribution.
    Your code sets no seed: the caller does that.
    Where the docstring promises a `ValueError`, wrong arguments raise an error and give no result;
    right ones raise none.
    """
    raise NotImplementedError


def project(inputs: Tensor, weight: Tensor) -> Tensor:
    """Turn inputs into queries, keys or values: (T, d_in), (d_in, d_out) -> (T, d_out).

    A single input vector works too: (d_in,), (d_in, d_out) -> (d_out,).
    """
    raise NotImplementedError


def attention_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Compare queries with keys by their dot products, not yet scaled.

    All queries with all keys: (T, d), (T, d) -> (T, T), where row i holds the scores of query i.
    One query with all keys: (d,), (T, d) -> (T,).
    """
    raise NotImplementedError


def attention_weights(scores: Tensor, d_k: int) -> Tensor:
    """Turn scores into attention weights, scaled by the square root of *d_k*, the size of a key.

    (T, T) -> (T, T), where each row sums to 1; the scores of one query alone: (T,) -> (T,).
    """
    raise NotImplementedError


def context_vectors(weights: Tensor, values: Tensor) -> Tensor:
    """Mix the values of all tokens, each by its attention weight: (T, T), (T, d_v) -> (T, d_v).

    The weights of one query alone give one context vector: (T,), (T, d_v) -> (d_v,).
    """
    raise NotImplementedError


def self_attention(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Tensor:
    """Compute context vectors from inputs, with all steps: (T, d_in) -> (T, d_v).

    *W_query* and *W_key* have shape (d_in, d_k), *W_value* has (d_in, d_v).
    """
    raise NotImplementedError
