"""Cross attention: the tokens of one sequence attend to the tokens of another.

Shapes in this stage: B items in the batch, T_q tokens with queries, T_k tokens with keys and
values. T_q and T_k may differ. Scores and weights have shape (T_q, T_k): rows are queries, and
columns are keys. In ``Attention``, all vectors have size d_model. In ``CrossAttention``, decoder
states with d_decoder features attend to encoder states with d_encoder features.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Your code must not set a seed: the caller sets it.
- Torch's own attention functions and layers (`nn.MultiheadAttention`, ...) are not allowed.
- Documented values and properties count only if the results are right for other inputs too.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Attention(nn.Module):
    """Scaled dot-product attention with separate inputs for queries, keys and values.

    Create the layers W_q, W_k and W_v in this order, each an ``nn.Linear`` from d_model to d_model
    features without bias. *row_dim* is the axis of the tokens, and *col_dim* is the axis of the
    features. They are 0 and 1 for encodings of shape (T, d_model), and 1 and 2 for a batch of shape
    (B, T, d_model). The number of tensor operations must not grow with the number of tokens.
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


def padding_mask(lengths: Sequence[int] | Tensor, max_length: int) -> Tensor:
    """Mark the positions of padded sequences that hold a token: B lengths -> bool (B, max_length).

    *lengths* is a list of integers or a 1-D integer tensor. Row b is ``True`` at its first
    lengths[b] positions, which hold tokens, and ``False`` at the padding after them. Raises
    ``ValueError`` if a length is below 0 or above *max_length*. The number of tensor operations
    must not grow with the number of tokens.
    """
    raise NotImplementedError


class CrossAttention(nn.Module):
    """Scaled dot-product attention from decoder states to encoder states.

    Create the layers W_query, W_key and W_value in this order, each an ``nn.Linear`` to d_out
    features without bias. W_query has d_decoder input features; W_key and W_value have d_encoder.
    """

    def __init__(self, d_decoder: int, d_encoder: int, d_out: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(
        self,
        decoder_states: Tensor,
        encoder_states: Tensor,
        padding_mask: Tensor | None = None,
    ) -> Tensor:
        """Mix the encoder's values for each decoder token.

        (B, T_q, d_decoder), (B, T_k, d_encoder) -> (B, T_q, d_out). Every decoder token may attend
        to the whole encoder sequence, except for padding. The optional *padding_mask* is a bool
        tensor of shape (B, T_k), ``True`` where item b has a token and ``False`` where it has
        padding. The number of tensor operations does not grow with T_q or T_k.
        """
        raise NotImplementedError
