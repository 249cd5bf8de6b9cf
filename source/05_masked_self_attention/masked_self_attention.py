"""Self-attention on sequences and on batches of them, and a mask that hides the future.

Shapes in this stage: T tokens, d features per token (d_model, the same in input and output), B
items in a batch. *row_dim* and *col_dim* say which axes count tokens and features: 0 and 1 for
(T, d), 1 and 2 for (B, T, d). Row i of the scores, of the weights and of a mask belongs to query i.

Some texts use other names: *sims* for the scores, *attention percents* for the attention weights,
and *attention scores* for the context vectors.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so use no in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Your code must not set a seed: the caller sets it.
- Torch's own attention functions and layers (`nn.MultiheadAttention`, ...) are not allowed.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    """Scaled dot-product self-attention of d_model features per token.

    Layers, created in this order, each an ``nn.Linear`` without bias from d_model to d_model
    features: W_q, W_k, W_v.
    """

    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, token_encodings: Tensor) -> Tensor:
        """Mix the values of all tokens for each token.

        (T, d) -> (T, d) with row_dim=0, col_dim=1, or (B, T, d) -> (B, T, d) with row_dim=1,
        col_dim=2, where the items of a batch are independent of each other.
        """
        raise NotImplementedError


def causal_mask(size: int) -> Tensor:
    """Return the (size, size) mask with ones on and below the diagonal and zeros above.

    Row i marks the tokens that token i may attend to: itself and those before it. 1 keeps and 0
    hides; other libraries use the opposite convention, so read their documentation each time.
    """
    raise NotImplementedError


class MaskedSelfAttention(nn.Module):
    """Scaled dot-product self-attention in which a mask says which tokens are visible.

    Layers, created in this order, each an ``nn.Linear`` without bias from d_model to d_model
    features: W_q, W_k, W_v.
    """

    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, token_encodings: Tensor, mask: Tensor) -> Tensor:
        """Mix, for each token, the values of the tokens that *mask* leaves visible.

        (T, d) -> (T, d) with row_dim=0, col_dim=1, or (B, T, d) -> (B, T, d) with row_dim=1,
        col_dim=2. *mask* is (T, T), the same for every item, of floats 0. and 1.: where row i
        holds 0 in column j, token j is hidden from token i and does not affect the result for i.
        Every token can see at least one token.
        """
        raise NotImplementedError
