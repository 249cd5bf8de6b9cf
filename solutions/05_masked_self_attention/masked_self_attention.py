"""Self-attention for single sequences and for batches, and a mask that hides the future.

Shapes in this stage: T tokens, d features per token (d_model, the same in input and output), B
items in a batch. *row_dim* and *col_dim* are the axes of tokens and features: 0 and 1 for (T, d), 1
and 2 for (B, T, d). Row i of the scores, of the weights and of a mask belongs to query i.

Some texts use other names: *sims* for the scores, *attention percents* for the attention weights,
and *attention scores* for the context vectors.
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
        ### BEGIN SOLUTION
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim = row_dim
        self.col_dim = col_dim
        ### END SOLUTION

    def forward(self, token_encodings: Tensor) -> Tensor:
        """Mix the values of all tokens for each token.

        With row_dim=0 and col_dim=1: (T, d) -> (T, d). With row_dim=1 and col_dim=2:
        (B, T, d) -> (B, T, d), where the items of a batch are independent of each other.
        """
        ### BEGIN SOLUTION
        q = self.W_q(token_encodings)  # (..., T, d)
        k = self.W_k(token_encodings)
        v = self.W_v(token_encodings)

        scores = q @ k.transpose(self.row_dim, self.col_dim)  # (..., T, T), one row per query
        scaled = scores / k.shape[self.col_dim] ** 0.5
        weights = torch.softmax(scaled, dim=self.col_dim)
        return weights @ v  # (..., T, d)
        ### END SOLUTION


def causal_mask(size: int) -> Tensor:
    """Return the (size, size) mask with ones on and below the diagonal and zeros above.

    Row i marks the tokens that token i may attend to: itself and those before it. 1 keeps a token
    visible and 0 hides it. Some libraries use the opposite convention.
    """
    ### BEGIN SOLUTION
    return torch.tril(torch.ones(size, size))
    ### END SOLUTION


class MaskedSelfAttention(nn.Module):
    """Scaled dot-product self-attention in which a mask determines which tokens are visible.

    The layers W_q, W_k and W_v are created in this order, each an ``nn.Linear`` without bias from
    d_model to d_model features.
    """

    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim = row_dim
        self.col_dim = col_dim
        ### END SOLUTION

    def forward(self, token_encodings: Tensor, mask: Tensor) -> Tensor:
        """Mix, for each token, the values of the tokens that *mask* leaves visible.

        With row_dim=0 and col_dim=1: (T, d) -> (T, d). With row_dim=1 and col_dim=2:
        (B, T, d) -> (B, T, d). *mask* is (T, T), the same for every item, and holds only zeros and
        ones, as floats. A zero in row i and column j hides token j from token i, so that token j
        does not affect the result for token i. Every token can see at least one token.
        """
        ### BEGIN SOLUTION
        q = self.W_q(token_encodings)  # (..., T, d)
        k = self.W_k(token_encodings)
        v = self.W_v(token_encodings)

        scores = q @ k.transpose(self.row_dim, self.col_dim)  # (..., T, T), one row per query
        scaled = scores / k.shape[self.col_dim] ** 0.5
        visible = scaled.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(visible, dim=self.col_dim)
        return weights @ v  # (..., T, d)
        ### END SOLUTION
