"""Attention from dot products: how much each token has to do with each other one.

Shapes in this stage: T tokens, d features per token. Inputs are (T, d), one embedding a row, and
there is no batch axis. A *query* is the embedding of the token that asks; its *scores* say how
alike it is to every token, its *weights* are the scores made to sum to 1, and its *context vector*
is the mixture of all tokens by these weights.

Scores are called omega, similarities or affinities elsewhere. In every matrix of scores or
weights the rows are queries: row i belongs to the token that asks, column j to the one it looks at.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def dot_product(a: Sequence[float] | Tensor, b: Sequence[float] | Tensor) -> float | Tensor:
    """Multiply two equally long sequences element by element and add the products up.

    *a* and *b* are two lists of numbers or two 1-D tensors, (d,) and (d,); the answer is one
    number, Python's own or a tensor without axes. This one is written in plain Python, element
    after element: no torch function, no product of whole vectors.
    Raises ``ValueError`` if the lengths differ.
    """
    raise NotImplementedError


def scores_for_query(inputs: Tensor, query: Tensor) -> Tensor:
    """Compare one query with every token: (T, d) and (d,) -> (T,).

    A score is the dot product of the query with that token's embedding.
    """
    raise NotImplementedError


def normalize_by_sum(scores: Tensor) -> Tensor:
    """Divide the scores of one query by their sum, so that they add up to 1: (T,) -> (T,)."""
    raise NotImplementedError


def softmax_naive(scores: Tensor) -> Tensor:
    """Turn the scores of one query into positive weights that add up to 1: (T,) -> (T,).

    Weight i is exp(score i) over the sum of all exp(score j). Write it out: no ready softmax.
    Large scores may overflow here.
    """
    raise NotImplementedError


def softmax_stable(scores: Tensor, dim: int) -> Tensor:
    """Take the softmax along axis *dim*, for scores of any shape and any size: same shape.

    Every slice along *dim* adds up to 1, and scores of 1000 or -1000 do it no harm: softmax stays
    the same if all scores of a slice are moved by the same amount. Write it out: no ready softmax.
    """
    raise NotImplementedError


def context_vector(weights: Tensor, inputs: Tensor) -> Tensor:
    """Mix all tokens by the weights of one query: (T,) and (T, d) -> (d,).

    It is the sum of the rows of *inputs*, each times its weight, with the weights as they are.
    """
    raise NotImplementedError


def attention_scores(inputs: Tensor) -> Tensor:
    """Compare every token with every token: (T, d) -> (T, T), row i holds the scores of query i.

    One matrix product does it: the number of tensor operations must not grow with T.
    """
    raise NotImplementedError


def attention_weights(scores: Tensor) -> Tensor:
    """Turn the scores of every query into its weights: (T, T) -> (T, T), each row adds up to 1.

    A ready softmax is welcome from here on.
    """
    raise NotImplementedError


def simple_self_attention(inputs: Tensor) -> Tensor:
    """Give every token its context vector: (T, d) -> (T, d).

    Scores, weights by softmax, context vectors: the three steps of this stage for all tokens at
    once, without scaling and without trained weights.
    """
    raise NotImplementedError
