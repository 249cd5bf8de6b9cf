"""One causal attention head, batched: each token attends to itself and the tokens before it.

Shapes in this stage: B items in the batch, T tokens in each, C features per token (the embedding
dimension), head_size features per query, key and value. In a (T, T) matrix, rows belong to queries
and columns to keys.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor, nn


def scaled_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Compare every query with every key of its item: (B, T, d), (B, T, d) -> (B, T, T).

    Entry (b, i, j) is the dot product of query i and key j of item b, divided by the square root
    of d. With this division, the variance of the scores does not grow with the size of the vectors.
    The number of tensor operations must not grow with the number of tokens.
    """
    raise NotImplementedError


def causal_pattern(scores: Tensor) -> Tensor:
    """Turn scaled scores into causal attention weights: (B, T, T) -> (B, T, T).

    Token i may attend to tokens 0 to i. Row i holds positive weights for these tokens, which sum to
    one, and zeros for later tokens. The scores are already scaled. The caller's *scores* must not
    change. The number of tensor operations must not grow with the number of tokens.
    """
    raise NotImplementedError


class AttentionHead(nn.Module):
    """One head of causal self-attention.

    The layers key, query and value are created in this order, each an ``nn.Linear`` without bias
    from embedding_dim to head_size features. Also register a buffer ``tril``. You choose its
    contents, for example a lower triangle of ones of shape (block_size, block_size). Your code must
    not set a seed: the caller sets it. Torch's own attention functions and layers
    (`nn.MultiheadAttention`, ...) are not allowed. The mask is a buffer: it moves with the module
    and is not trained.
    """

    def __init__(self, embedding_dim: int, head_size: int, block_size: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Compute the context vector of each token: (B, T, C) -> (B, T, head_size).

        Token i mixes the values of tokens 0 to i by its causal attention weights. The head works
        for any T up to block_size. The number of tensor operations does not grow with T. Raises
        ``ValueError`` if T is above block_size.
        """
        raise NotImplementedError
