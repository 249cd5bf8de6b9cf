"""Positions: sinusoids that are added, rotations of queries and keys, and a bias on the scores.

Shapes in this stage: T tokens, d features, in pairs; Tq queries and Tk keys; B items in the batch,
H heads of size d, d_in features per token, d_out = H · d features per query, key, value and context
vector. A result that is computed from whole numbers alone is in float32.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor, nn


def sinusoidal_positions(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Return a row of sines and cosines for each position: (length, d_model).

    Positions start at 0. Features 2i and 2i + 1 of the row for position p are the sine and the
    cosine of p / base^(2i / d_model). Raises ``ValueError`` if *d_model* is odd.
    """
    raise NotImplementedError


def rotary_angles(positions: Tensor, d: int, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    """Return cosine and sine of the angle of each pair at each position: (T,) -> two (T, d/2).

    *positions* may be any numbers, including fractions and negative ones. Pair i of a vector with
    *d* features is rotated by the angle position / base^(2i / d). Returns the tuple (cos, sin). The
    number of tensor operations does not grow with T. Raises ``ValueError`` if *d* is odd.
    """
    raise NotImplementedError


def apply_rotary(x: Tensor, cos: Tensor, sin: Tensor, halves: bool = False) -> Tensor:
    """Rotate each pair of features by its angle: (…, T, d), two (T, d/2) -> (…, T, d).

    Pair i consists of features 2i and 2i + 1. If *halves* is True, it consists of features i and
    i + d/2. Pair i of token t, (a, b), becomes (a cos - b sin, a sin + b cos), with the cosine and
    the sine in row t and column i. The two new features replace a and b in their places. Any number
    of axes may come before T. The number of tensor operations does not grow with T.
    """
    raise NotImplementedError


def alibi_slopes(num_heads: int) -> Tensor:
    """Return the slope of each head: (H,).

    If H = *num_heads* is a power of 2, head h = 0, 1, … has the slope 2^(-8 (h + 1) / H).
    Otherwise P is the largest power of 2 below H. The first P heads have the slopes for P heads,
    and the other heads have the first, third, fifth, … of the slopes for 2P heads.
    """
    raise NotImplementedError


def alibi_bias(num_heads: int, num_queries: int, num_keys: int) -> Tensor:
    """Return the bias that is added to the scores of each head: (H, Tq, Tk).

    The bias is minus the slope of the head times the distance from the query back to the key. The
    last query is at the position of the last key, and Tq is at most Tk. Entries for keys after the
    query may have any value, because a causal mask hides them.
    """
    raise NotImplementedError


class RotaryAttention(nn.Module):
    """Causal multi-head attention whose queries and keys are rotated by their positions.

    Layers, created in this order: W_query, W_key, W_value, each an ``nn.Linear`` from d_in to d_out
    features without a bias; out_proj, an ``nn.Linear`` from d_out to d_out features with a bias.
    The layers keep the initial values that torch draws. Each of the *num_heads* heads works on d =
    d_out / num_heads neighbouring features. *base* is the base of ``rotary_angles``. Raises
    ``ValueError`` if *num_heads* does not divide *d_out*, or if d is odd. Your code must not set a
    seed: the caller sets it. Torch's own attention functions and layers (`nn.MultiheadAttention`,
    ...) are not allowed.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        num_heads: int,
        base: float = 10000.0,
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Compute causal attention with rotated pairs in every head: (B, T, d_in) -> (B, T, d_out).

        Queries, keys and values are split into heads. Token t is at position *offset* + t. In each
        head, pairs (2i, 2i + 1) of its query and of its key are rotated by the angles of that
        position; its value is not rotated. Attention is causal, with scores divided by the square
        root of d. out_proj mixes the features of the merged heads. Because scores depend only on
        distances, the result is the same for every *offset*. Works for any T up to context_length;
        *offset* + T may be larger. The number of tensor operations does not grow with T. Raises
        ``ValueError`` if T is larger than context_length.
        """
        raise NotImplementedError
