"""Attention from dot products: how much each token matters for each other token.

Shapes in this stage: T tokens, d features per token. Inputs are (T, d), one embedding per row, and
there is no batch axis. A *query* is the embedding of the token that attends to the others; its
*scores* say how similar it is to every token, its *weights* are the scores normalised to sum to 1,
and its *context vector* is the mixture of all tokens by these weights.

Scores are called omega, similarities or affinities elsewhere. In every matrix of scores or
weights the rows are queries: row i belongs to the query, column j to the token it attends to.

Rules, which are graded like the results:

- Results have the dtype of the floating-point tensors that go in: float32 stays float32, and
  float64 stays float64; a module gets `.double()` first. (All but dot_product, scores_for_query,
  context_vector.)
- Tensors in float32 give a result in float32. (scores_for_query, context_vector.)
- A call leaves its arguments as they were: no operation in place on what the caller passed.
- The right gradients flow back to every tensor argument and to every trainable parameter: nothing
  leaves torch's graph (`.detach()`, `.data`, `.item()`, `no_grad`). (All but dot_product.)
- Softmax is written out with exponentials: torch's own softmax functions and layers are not
  allowed. (softmax_naive, softmax_stable.)
- Documented values and general properties count as soon as the results are right for other inputs
  too.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def dot_product(a: Sequence[float] | Tensor, b: Sequence[float] | Tensor) -> float | Tensor:
    """Multiply two equally long sequences element by element and add up the products.

    *a* and *b* are two lists of numbers or two 1-D tensors, (d,) and (d,); the result is one
    number, a Python number or a tensor without axes. Write it in plain Python, one element
    after the other: no torch function, no product of whole vectors.
    Raises ``ValueError`` if the lengths differ.
    Where the docstring promises a `ValueError`, wrong arguments raise an error and give no result;
    right ones raise none.
    The elements are multiplied and added one by one, in plain Python: no function or operator of
    torch does it for you, and lists of numbers need no torch at all.
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

    Every slice along *dim* adds up to 1, also for scores of 1000 or -1000: softmax stays the same
    if all scores of a slice are shifted by the same amount. Write it out: no ready softmax.
    A score of minus infinity gets the weight 0.
    """
    raise NotImplementedError


def context_vector(weights: Tensor, inputs: Tensor) -> Tensor:
    """Mix all tokens by the weights of one query: (T,) and (T, d) -> (d,).

    It is the sum of the rows of *inputs*, each times its weight. Use the weights unchanged.
    """
    raise NotImplementedError


def attention_scores(inputs: Tensor) -> Tensor:
    """Compare every token with every token: (T, d) -> (T, T), row i holds the scores of query i.

    One matrix product does it: the number of tensor operations must not grow with T.
    The number of tensor operations does not grow with the number of tokens: no loop over tokens.
    """
    raise NotImplementedError


def attention_weights(scores: Tensor) -> Tensor:
    """Turn the scores of every query into its weights: (T, T) -> (T, T), each row adds up to 1.

    A ready softmax is allowed from here on.
    """
    raise NotImplementedError


def simple_self_attention(inputs: Tensor) -> Tensor:
    """Compute the context vector of every token: (T, d) -> (T, d).

    These are the three steps of this stage for all tokens at once: scores, weights by softmax,
    context vectors. There is no scaling and there are no trained weights.
    """
    raise NotImplementedError
