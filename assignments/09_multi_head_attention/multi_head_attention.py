"""Multi-head attention: several heads attend to the same text, each with its own weights.

Shapes in this stage: B items in the batch, T tokens in each (T_q tokens with queries and T_k tokens
with keys, where the two differ), H heads. A head of ``MultiHeadAttention`` gives d_model features
per token, a head of ``MultiHeadAttentionWrapper`` gives d_out; the results of H heads are
concatenated, so a token gets H times as many. Rows of scores, weights and masks are queries,
columns are keys.

``Attention`` and ``CausalAttention`` are yours from stages 08 and 07: copy them into this file.

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


class Attention(nn.Module):
    """Scaled dot-product attention with separate inputs for queries, keys and values.

    Layers, created in this order, each an ``nn.Linear`` from d_model to d_model features without
    bias: W_q, W_k, W_v. *row_dim* is the axis of the tokens and *col_dim* the axis of the features:
    0 and 1 for encodings of shape (T, d_model), 1 and 2 for a batch of shape (B, T, d_model).
    """

    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(
        self,
        encodings_for_q: Tensor,
        encodings_for_k: Tensor,
        encodings_for_v: Tensor,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Mix the values for each query.

        (T_q, d_model), (T_k, d_model), (T_k, d_model) -> (T_q, d_model), or the same with a batch
        axis B in front of each. *mask*, if there is one, has shape (T_q, T_k) and holds 1 where
        query i may attend to key j, and 0 where the key is hidden from it.
        """
        raise NotImplementedError


class CausalAttention(nn.Module):
    """Batched self-attention that hides the future, with dropout on its weights.

    Layers, created in this order, each an ``nn.Linear`` from d_in to d_out features, with a bias
    only if *qkv_bias* is true: W_query, W_key, W_value. *dropout* is the probability with which an
    attention weight, after softmax, is set to zero in training; the others are divided by
    1 - dropout. Register a buffer ``mask`` as well; you choose what it holds, for example ones
    above the diagonal of a (context_length, context_length) matrix. As a buffer, the mask moves
    with the module and is not trained.
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
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Mix the values of the tokens up to each token: (B, T, d_in) -> (B, T, d_out).

        Token i mixes the values of tokens 0 to i by its causal attention weights. Works for any T
        up to context_length, with a number of tensor operations that does not grow with T. Raises
        ``ValueError`` if T is above context_length. In eval mode nothing is dropped.
        """
        raise NotImplementedError


class MultiHeadAttention(nn.Module):
    """Several ``Attention`` heads on the same encodings, their context vectors side by side.

    ``heads`` is an ``nn.ModuleList`` of *num_heads* ``Attention``, created one after the other,
    each with its own layers and with the same *d_model*, *row_dim* and *col_dim*. There is no layer
    after the heads.
    """

    def __init__(
        self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1, num_heads: int = 1
    ) -> None:
        super().__init__()
        raise NotImplementedError

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
        from head 1, and so on. *mask*, if there is one, is used by every head as in ``Attention``.
        The number of tensor operations does not grow with T_q or T_k.
        """
        raise NotImplementedError


class MultiHeadAttentionWrapper(nn.Module):
    """Several ``CausalAttention`` heads on the same tokens, their context vectors side by side.

    ``heads`` is an ``nn.ModuleList`` of *num_heads* ``CausalAttention``, created one after the
    other, each with its own layers and with the same *d_in*, *d_out*, *context_length*, *dropout*
    and *qkv_bias*: *d_out* is the size of one head. There is no layer after the heads.
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
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Run every head on the same tokens: (B, T, d_in) -> (B, T, H · d_out).

        A token's first d_out features come from head 0, the next from head 1, and so on. Works for
        any T up to context_length, with a number of tensor operations that does not grow with T.
        Raises ``ValueError`` if T is above context_length.
        """
        raise NotImplementedError
