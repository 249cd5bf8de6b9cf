"""Multi-head attention: several heads attend to the same text, each with its own weights.

Shapes in this stage: B items in the batch, T tokens in each, H heads. If queries and keys come
from different sequences, T_q tokens have queries and T_k tokens have keys. A head of
``MultiHeadAttention`` gives d_model features per token, and a head of ``MultiHeadAttentionWrapper``
gives d_out. The results of H heads are concatenated, so each token gets H times as many features.
The rows of scores, weights and masks are queries, and the columns are keys.

``Attention`` and ``CausalAttention`` are your classes from stages 08 and 07. Copy them into this
file.

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


class Attention(nn.Module):
    """Scaled dot-product attention with separate inputs for queries, keys and values.

    Create the layers W_q, W_k and W_v in this order, each an ``nn.Linear`` from d_model to d_model
    features without bias. *row_dim* is the axis of the tokens, and *col_dim* is the axis of the
    features. They are 0 and 1 for encodings of shape (T, d_model), and 1 and 2 for a batch of shape
    (B, T, d_model).
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
        axis B in front of each. The optional *mask* has shape (T_q, T_k). Entry (i, j) is 1 if
        query i may attend to key j, and 0 if key j is hidden from query i.
        """
        raise NotImplementedError


class CausalAttention(nn.Module):
    """Batched self-attention that hides the future, with dropout on its weights.

    Create the layers W_query, W_key and W_value in this order, each an ``nn.Linear`` from d_in to
    d_out features, with a bias only if *qkv_bias* is true. In training, each attention weight is
    set to zero after softmax with probability *dropout*, and the remaining weights are divided by
    1 - dropout. Also register a buffer ``mask``. You choose its contents, for example ones above
    the diagonal of a (context_length, context_length) matrix. The mask is a buffer: it moves with
    the module and is not trained.
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
        """Mix the values up to each token: (B, T, d_in) -> (B, T, d_out).

        The context vector of token i is the sum of the values of tokens 0 to i, weighted by its
        causal attention weights. Works for any T up to context_length. The number of tensor
        operations does not grow with T. Raises ``ValueError`` if T is above context_length. In
        eval mode, nothing is dropped.
        """
        raise NotImplementedError


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
        d_model from head 1, and so on. Every head uses the optional *mask* as in ``Attention``. The
        number of tensor operations does not grow with T_q or T_k.
        """
        raise NotImplementedError


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
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Run every head on the same tokens: (B, T, d_in) -> (B, T, H · d_out).

        A token's first d_out features come from head 0, the next d_out from head 1, and so on.
        Works for any T up to context_length. The number of tensor operations does not grow with T.
        Raises ``ValueError`` if T is above context_length.
        """
        raise NotImplementedError
