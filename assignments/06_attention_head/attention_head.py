"""One causal attention head, batched: each token attends to itself and the tokens before it.

Shapes in this stage: B items in the batch, T tokens in each, C features per token (the embedding
dimension), head_size features per query, key and value. Rows of a (T, T) matrix are queries,
columns are keys.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so use no in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor, nn


def scaled_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Compare every query with every key of its own item: two (B, T, d) -> (B, T, T).

    Entry (b, i, j) is the dot product of query i and key j of item b, divided by the square root
    of d, so that the variance of the scores does not grow with the size of the vectors. The number
    of tensor operations must not grow with the number of tokens.
    """
    raise NotImplementedError


def causal_pattern(scores: Tensor) -> Tensor:
    """Turn scaled scores into causal attention weights: (B, T, T) -> (B, T, T).

    Token i may attend to tokens 0 to i: each row holds positive weights there, which sum to one,
    and zeros after i. The scores are already scaled. The caller's *scores* must not change. The
    number of tensor operations must not grow with the number of tokens.
    """
    raise NotImplementedError


class AttentionHead(nn.Module):
    """One head of causal self-attention.

    Layers, created in this order, each an ``nn.Linear`` from embedding_dim to head_size features
    without bias: key, query, value. Register a buffer ``tril`` as well; you choose what it holds,
    for example a lower triangle of ones of shape (block_size, block_size). Your code must not set a
    seed: the caller sets it. Torch's own attention functions and layers (`nn.MultiheadAttention`,
    ...) are not allowed. As a buffer, the mask moves with the module and is not trained.
    """

    def __init__(self, embedding_dim: int, head_size: int, block_size: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Mix the values of the tokens up to each token: (B, T, C) -> (B, T, head_size).

        Token i mixes the values of tokens 0 to i by its causal attention weights. Works for any T
        up to block_size, with a number of tensor operations that does not grow with T. Raises
        ``ValueError`` if T is above block_size.
        """
        raise NotImplementedError
