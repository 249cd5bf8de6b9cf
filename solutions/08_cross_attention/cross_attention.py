"""Cross attention: the tokens of one sequence attend to the tokens of another.

Shapes in this stage: B items in the batch, T_q tokens with queries, T_k tokens with keys and
values. T_q and T_k may differ. Scores and weights have shape (T_q, T_k): rows are queries, and
columns are keys. In ``Attention``, all vectors have size d_model. In ``CrossAttention``, decoder
states with d_decoder features attend to encoder states with d_encoder features.
"""

from collections.abc import Sequence

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


def padding_mask(lengths: Sequence[int] | Tensor, max_length: int) -> Tensor:
    """Mark the positions of padded sequences that hold a token: B lengths -> bool (B, max_length).

    *lengths* is a list of integers or a 1-D integer tensor. Row b is ``True`` at its first
    lengths[b] positions, which hold tokens, and ``False`` at the padding after them. Raises
    ``ValueError`` if a length is below 0 or above *max_length*.
    """
    ### BEGIN SOLUTION
    lengths = torch.as_tensor(lengths)
    if ((lengths < 0) | (lengths > max_length)).any():
        raise ValueError(f"every length must lie between 0 and {max_length}")
    return torch.arange(max_length) < lengths.unsqueeze(-1)  # (B, max_length)
    ### END SOLUTION


class CrossAttention(nn.Module):
    """Scaled dot-product attention from decoder states to encoder states.

    Create the layers W_query, W_key and W_value in this order, each an ``nn.Linear`` to d_out
    features without bias. W_query has d_decoder input features; W_key and W_value have d_encoder.
    """

    def __init__(self, d_decoder: int, d_encoder: int, d_out: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.W_query = nn.Linear(d_decoder, d_out, bias=False)
        self.W_key = nn.Linear(d_encoder, d_out, bias=False)
        self.W_value = nn.Linear(d_encoder, d_out, bias=False)
        ### END SOLUTION

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
        ### BEGIN SOLUTION
        queries = self.W_query(decoder_states)  # (B, T_q, d_out)
        keys = self.W_key(encoder_states)  # (B, T_k, d_out)
        values = self.W_value(encoder_states)

        scores = queries @ keys.transpose(-2, -1)  # (B, T_q, T_k)
        scaled = scores / keys.shape[-1] ** 0.5
        if padding_mask is not None:
            hidden = ~padding_mask.unsqueeze(-2)  # (B, 1, T_k), the same for every query
            scaled = scaled.masked_fill(hidden, float("-inf"))
        weights = torch.softmax(scaled, dim=-1)
        return weights @ values  # (B, T_q, d_out)
        ### END SOLUTION
