"""One causal attention head, batched: each token attends to itself and the tokens before it.

Shapes in this stage: B items in the batch, T tokens in each, C features per token (the embedding
dimension), head_size features per query, key and value. In a (T, T) matrix, rows belong to queries
and columns to keys.
"""

import torch
from torch import Tensor, nn


def scaled_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Compare every query with every key of its item: (B, T, d), (B, T, d) -> (B, T, T).

    Entry (b, i, j) is the dot product of query i and key j of item b, divided by the square root
    of d. With this division, the variance of the scores does not grow with the size of the vectors.
    """
    ### BEGIN SOLUTION
    d = keys.shape[-1]
    return queries @ keys.transpose(-2, -1) / d**0.5  # (B, T, T)
    ### END SOLUTION


def causal_pattern(scores: Tensor) -> Tensor:
    """Turn scaled scores into causal attention weights: (B, T, T) -> (B, T, T).

    Token i may attend to tokens 0 to i. Row i holds positive weights for these tokens, which sum to
    one, and zeros for later tokens. The scores are already scaled. The caller's *scores* must not
    change.
    """
    ### BEGIN SOLUTION
    T = scores.shape[-1]
    visible = torch.tril(torch.ones(T, T, device=scores.device))
    masked = scores.masked_fill(visible == 0, float("-inf"))
    return torch.softmax(masked, dim=-1)
    ### END SOLUTION


class AttentionHead(nn.Module):
    """One head of causal self-attention.

    The layers key, query and value are created in this order, each an ``nn.Linear`` without bias
    from embedding_dim to head_size features. Also register a buffer ``tril``. You choose its
    contents, for example a lower triangle of ones of shape (block_size, block_size).
    """

    def __init__(self, embedding_dim: int, head_size: int, block_size: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Compute the context vector of each token: (B, T, C) -> (B, T, head_size).

        Token i mixes the values of tokens 0 to i by its causal attention weights. The head works
        for any T up to block_size. The number of tensor operations does not grow with T. Raises
        ``ValueError`` if T is above block_size.
        """
        ### BEGIN SOLUTION
        T = x.shape[1]
        block_size = self.tril.shape[0]
        if block_size < T:
            raise ValueError(f"{T} tokens do not fit into a block of {block_size}")

        k = self.key(x)  # (B, T, head_size)
        q = self.query(x)
        v = self.value(x)

        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5  # (B, T, T), one row per query
        masked = scores.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        weights = torch.softmax(masked, dim=-1)
        return weights @ v  # (B, T, head_size)
        ### END SOLUTION
