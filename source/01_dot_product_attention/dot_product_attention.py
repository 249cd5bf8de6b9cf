"""Attention from dot products: how much each token matters for each other token.

Shapes in this stage: T tokens, d features per token. Inputs are (T, d), one embedding per row, and
there is no batch axis. A *query* is the embedding of the token that attends to all tokens. Its
*scores* measure how similar it is to each token. Its *weights* are computed from the scores and
sum to 1. Its *context vector* is the sum of all tokens, each multiplied by its weight.

Other texts call scores *omega*, *similarities* or *affinities*. In every matrix of scores or
weights, row i belongs to query i, and column j belongs to token j.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Documented values and properties count only if the results are right for other inputs too.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def dot_product(a: Sequence[float] | Tensor, b: Sequence[float] | Tensor) -> float | Tensor:
    """Multiply two sequences of equal length element by element and add up the products.

    *a* and *b* are two lists of numbers or two 1-D tensors of shape (d,). The result is one number:
    a Python number or a tensor without axes. Raises ``ValueError`` if the lengths differ. Write it
    in plain Python, one element at a time, without functions or operators of torch.
    """
    raise NotImplementedError


def scores_for_query(inputs: Tensor, query: Tensor) -> Tensor:
    """Compare one query with every token: (T, d) and (d,) -> (T,).

    The score of a token is the dot product of the query with the token's embedding.
    """
    raise NotImplementedError


def normalize_by_sum(scores: Tensor) -> Tensor:
    """Divide the scores of one query by their sum, so that they add up to 1: (T,) -> (T,)."""
    raise NotImplementedError


def softmax_naive(scores: Tensor) -> Tensor:
    """Turn the scores of one query into positive weights that add up to 1: (T,) -> (T,).

    Weight i is exp(score i) divided by the sum of all exp(score j). Write out this formula. It may
    overflow for large scores. Torch's own softmax and logsumexp are not allowed here.
    """
    raise NotImplementedError


def softmax_stable(scores: Tensor, dim: int) -> Tensor:
    """Take the softmax along axis *dim*: scores of any shape -> weights of the same shape.

    Every slice of weights along *dim* adds up to 1, even for scores of 1000 or -1000. The softmax
    does not change if all scores of a slice are shifted by the same amount. Write out the softmax.
    Torch's own softmax and logsumexp are not allowed here. A score of minus infinity gets the
    weight 0.
    """
    raise NotImplementedError


def context_vector(weights: Tensor, inputs: Tensor) -> Tensor:
    """Mix all tokens by the weights of one query: (T,) and (T, d) -> (d,).

    The result is the sum of the rows of *inputs*, each multiplied by its weight. Use the weights
    unchanged.
    """
    raise NotImplementedError


def attention_scores(inputs: Tensor) -> Tensor:
    """Compare every token with every token: (T, d) -> (T, T).

    Row i holds the scores of query i. Use one matrix product, so that the number of tensor
    operations does not grow with T.
    """
    raise NotImplementedError


def attention_weights(scores: Tensor) -> Tensor:
    """Turn the scores of every query into its weights: (T, T) -> (T, T).

    Each row of weights adds up to 1. Torch's own softmax is allowed from here on.
    """
    raise NotImplementedError


def simple_self_attention(inputs: Tensor) -> Tensor:
    """Compute the context vector of every token: (T, d) -> (T, d).

    Perform the three steps of this stage for all tokens at once: scores, weights by softmax, and
    context vectors. There is no scaling, and there are no trained weights.
    """
    raise NotImplementedError
