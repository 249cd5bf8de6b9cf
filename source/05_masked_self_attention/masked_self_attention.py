"""Self-attention for single sequences and for batches, and a mask that hides the future.

Shapes in this stage: T tokens, d features per token (d_model, the same in input and output), B
items in a batch. *row_dim* and *col_dim* are the axes of tokens and features: 0 and 1 for (T, d), 1
and 2 for (B, T, d). Row i of the scores, of the weights and of a mask belongs to query i.

Some texts use other names: *sims* for the scores, *attention percents* for the attention weights,
and *attention scores* for the context vectors.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Your code must not set a seed: the caller sets it.
- Torch's own attention functions and layers (`nn.MultiheadAttention`, ...) are not allowed.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    """Scaled dot-product self-attention for tokens with d_model features.

    The layers W_q, W_k and W_v are created in this order, each an ``nn.Linear`` without bias from
    d_model to d_model features.
    """

    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, token_encodings: Tensor) -> Tensor:
        """Mix the values of all tokens for each token.

        With row_dim=0 and col_dim=1: (T, d) -> (T, d). With row_dim=1 and col_dim=2:
        (B, T, d) -> (B, T, d), where the items of a batch are independent of each other.
        """
        raise NotImplementedError


def causal_mask(size: int) -> Tensor:
    """Return the (size, size) mask with ones on and below the diagonal and zeros above.

    Row i marks the tokens that token i may attend to: itself and those before it. 1 keeps a token
    visible and 0 hides it. Some libraries use the opposite convention.
    """
    raise NotImplementedError


class MaskedSelfAttention(nn.Module):
    """Scaled dot-product self-attention in which a mask determines which tokens are visible.

    The layers W_q, W_k and W_v are created in this order, each an ``nn.Linear`` without bias from
    d_model to d_model features.
    """

    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, token_encodings: Tensor, mask: Tensor) -> Tensor:
        """Mix, for each token, the values of the tokens that *mask* leaves visible.

        With row_dim=0 and col_dim=1: (T, d) -> (T, d). With row_dim=1 and col_dim=2:
        (B, T, d) -> (B, T, d). *mask* is (T, T), the same for every item, and holds only zeros and
        ones, as floats. A zero in row i and column j hides token j from token i, so that token j
        does not affect the result for token i. Every token can see at least one token.
        """
        raise NotImplementedError
