"""Attention from dot products: how much each token matters for each other token.

Shapes in this stage: T tokens, d features per token. Inputs are (T, d), one embedding per row, and
there is no batch axis. A *query* is the embedding of the token that attends to the others; its
*scores* say how similar it is to every token, its *weights* are the scores normalised to sum to 1,
and its *context vector* is the mixture of all tokens by these weights.

Scores are called omega, similarities or affinities elsewhere. In every matrix of scores or
weights the rows are queries: row i belongs to the query, column j to the token it attends to.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so use no in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Documented values and properties count only if the results are right for other inputs too.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def dot_product(a: Sequence[float] | Tensor, b: Sequence[float] | Tensor) -> float | Tensor:
    """Multiply two equally long sequences element by element and add up the products.

    *a* and *b* are two lists of numbers or two 1-D tensors, (d,) and (d,); the result is one
    number, a Python number or a tensor without axes. Raises ``ValueError`` if the lengths differ.
    Write it in plain Python, one element at a time, without functions or operators of torch.
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

    Weight i is exp(score i) divided by the sum of all exp(score j). Write this out. Large scores
    may overflow here. Torch's own softmax is not allowed here.
    """
    raise NotImplementedError


def softmax_stable(scores: Tensor, dim: int) -> Tensor:
    """Take the softmax along axis *dim*, for scores of any shape and any size: same shape.

    Every slice along *dim* adds up to 1, even for scores of 1000 or -1000: the softmax does not
    change if all scores of a slice are shifted by the same amount. Write this out. Torch's own
    softmax is not allowed here. A score of minus infinity gets the weight 0.
    """
    raise NotImplementedError


def context_vector(weights: Tensor, inputs: Tensor) -> Tensor:
    """Mix all tokens by the weights of one query: (T,) and (T, d) -> (d,).

    It is the sum of the rows of *inputs*, each multiplied by its weight. Use the weights unchanged.
    """
    raise NotImplementedError


def attention_scores(inputs: Tensor) -> Tensor:
    """Compare every token with every token: (T, d) -> (T, T), row i holds the scores of query i.

    Use one matrix product, so that the number of tensor operations does not grow with T.
    """
    raise NotImplementedError


def attention_weights(scores: Tensor) -> Tensor:
    """Turn the scores of every query into its weights: (T, T) -> (T, T), each row adds up to 1.

    Torch's own softmax is allowed from here on.
    """
    raise NotImplementedError


def simple_self_attention(inputs: Tensor) -> Tensor:
    """Compute the context vector of every token: (T, d) -> (T, d).

    Take the three steps of this stage for all tokens at once: scores, weights by softmax, context
    vectors. There is no scaling, and there are no trained weights.
    """
    raise NotImplementedError
