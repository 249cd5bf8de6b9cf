"""Multi-head attention: several heads attend to the same text, each with its own weights.

Shapes in this stage: B items in the batch, T tokens in each, H heads. If queries and keys come
from different sequences, T_q tokens have queries and T_k tokens have keys. A head of
``MultiHeadAttention`` gives d_model features per token, and a head of ``MultiHeadAttentionWrapper``
gives d_out. The results of H heads are concatenated, so each token gets H times as many features.
The rows of scores, weights and masks are queries, and the columns are keys.

``Attention`` and ``CausalAttention`` are your classes from stages 08 and 07. Copy them into this
file.
"""

import torch
from torch import Tensor, nn


class Attention(nn.Module):
    """Scaled dot-product attention with separate inputs for queries, keys and values.

    Create the layers W_q, W_k and W_v in this order, each an ``nn.Linear`` from d_model to d_model
    features without bias. *row_dim* is the axis of the tokens, and *col_dim* is the axis of the
    features. They are 0 and 1 for encodings of shape (T, d_model), and 1 and 2 for a batch of shape
    (B, T, d_model).
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

    def forward(
        self,
        encodings_for_q: Tensor,
        encodings_for_k: Tensor,
        encodings_for_v: Tensor,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Mix the values for each query.

        (T_q, d_model), (T_k, d_model), (T_k, d_model) -> (T_q, d_model), or the same with a batch
        axis B in front of each. The optional *mask* has shape (T_q, T_k). Entry (i, j) is 1 if
        query i may attend to key j, and 0 if key j is hidden from query i.
        """
        ### BEGIN SOLUTION
        q = self.W_q(encodings_for_q)  # (..., T_q, d_model)
        k = self.W_k(encodings_for_k)  # (..., T_k, d_model)
        v = self.W_v(encodings_for_v)

        scores = q @ k.transpose(self.row_dim, self.col_dim)  # (..., T_q, T_k)
        scaled = scores / k.shape[self.col_dim] ** 0.5
        if mask is not None:
            scaled = scaled.masked_fill(mask == 0, float("-inf"))
        weights = torch.softmax(scaled, dim=self.col_dim)
        return weights @ v  # (..., T_q, d_model)
        ### END SOLUTION


class CausalAttention(nn.Module):
    """Batched self-attention that hides the future, with dropout on its weights.

    Create the layers W_query, W_key and W_value in this order, each an ``nn.Linear`` from d_in to
    d_out features, with a bias only if *qkv_bias* is true. In training, each attention weight is
    set to zero after softmax with probability *dropout*, and the remaining weights are divided by
    1 - dropout. Also register a buffer ``mask``. You choose its contents, for example ones above
    the diagonal of a (context_length, context_length) matrix.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        future = torch.ones(context_length, context_length).triu(diagonal=1)
        self.register_buffer("mask", future == 1)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Mix the values up to each token: (B, T, d_in) -> (B, T, d_out).

        The context vector of token i is the sum of the values of tokens 0 to i, weighted by its
        causal attention weights. Works for any T up to context_length. The number of tensor
        operations does not grow with T. Raises ``ValueError`` if T is above context_length. In
        eval mode, nothing is dropped.
        """
        ### BEGIN SOLUTION
        T = x.shape[1]
        context_length = self.mask.shape[0]
        if context_length < T:
            raise ValueError(f"{T} tokens do not fit into a context of {context_length}")

        queries = self.W_query(x)  # (B, T, d_out)
        keys = self.W_key(x)
        values = self.W_value(x)

        scores = queries @ keys.transpose(-2, -1)  # (B, T, T), one row per query
        masked = scores.masked_fill(self.mask[:T, :T], float("-inf"))
        weights = torch.softmax(masked / keys.shape[-1] ** 0.5, dim=-1)
        weights = self.dropout(weights)
        return weights @ values  # (B, T, d_out)
        ### END SOLUTION


class MultiHeadAttention(nn.Module):
    """Several ``Attention`` heads on the same encodings, with concatenated context vectors.

    ``heads`` is an ``nn.ModuleList`` of *num_heads* ``Attention`` modules, created one after the
    other. Each has its own layers and the same *d_model*, *row_dim* and *col_dim*. There is no
    layer after the heads.
    """

    def __init__(
        self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1, num_heads: int = 1
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.heads = nn.ModuleList(
            [Attention(d_model, row_dim, col_dim) for _ in range(num_heads)],
        )
        self.col_dim = col_dim
        ### END SOLUTION

    def forward(
        self,
        encodings_for_q: Tensor,
        encodings_for_k: Tensor,
        encodings_for_v: Tensor,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Run every head on the same encodings, and concatenate the results.

        (T_q, d_model), (T_k, d_model), (T_k, d_model) -> (T_q, H · d_model), or the same with a
        batch axis B in front of each. A token's first d_model features come from head 0, the next
        d_model from head 1, and so on. Every head uses the optional *mask* as in ``Attention``. The
        number of tensor operations does not grow with T_q or T_k.
        """
        ### BEGIN SOLUTION
        contexts = [
            head(encodings_for_q, encodings_for_k, encodings_for_v, mask) for head in self.heads
        ]
        return torch.cat(contexts, dim=self.col_dim)  # (..., T_q, H * d_model)
        ### END SOLUTION


class MultiHeadAttentionWrapper(nn.Module):
    """Several ``CausalAttention`` heads on the same tokens, with concatenated context vectors.

    ``heads`` is an ``nn.ModuleList`` of *num_heads* ``CausalAttention`` modules, created one after
    the other. Each has its own layers and the same *d_in*, *d_out*, *context_length*, *dropout* and
    *qkv_bias*. *d_out* is the size of one head. There is no layer after the heads.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.heads = nn.ModuleList(
            [
                CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
                for _ in range(num_heads)
            ],
        )
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Run every head on the same tokens: (B, T, d_in) -> (B, T, H · d_out).

        A token's first d_out features come from head 0, the next d_out from head 1, and so on.
        Works for any T up to context_length. The number of tensor operations does not grow with T.
        Raises ``ValueError`` if T is above context_length.
        """
        ### BEGIN SOLUTION
        contexts = [head(x) for head in self.heads]  # each (B, T, d_out)
        return torch.cat(contexts, dim=-1)
        ### END SOLUTION
