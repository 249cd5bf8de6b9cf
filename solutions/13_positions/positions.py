"""Positions: sinusoids that are added, rotations of queries and keys, and a bias on the scores.

Shapes in this stage: T tokens, d features, in pairs; Tq queries and Tk keys; B items in the batch,
H heads of size d, d_in features per token, d_out = H · d features per query, key, value and context
vector. A result that is computed from whole numbers alone is in float32.
"""

import torch
from torch import Tensor, nn


def sinusoidal_positions(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Return a row of sines and cosines for each position: (length, d_model).

    Positions start at 0. Features 2i and 2i + 1 of the row for position p are the sine and the
    cosine of p / base^(2i / d_model). Raises ``ValueError`` if *d_model* is odd.
    """
    ### BEGIN SOLUTION
    if d_model % 2 != 0:
        raise ValueError(f"{d_model} features can't be shared out in pairs")

    positions = torch.arange(length)
    frequencies = base ** (-torch.arange(0, d_model, 2) / d_model)  # (d_model/2,)
    angles = positions[:, None] * frequencies  # (length, d_model/2)
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)  # (length, d_model/2, 2)
    return pairs.flatten(start_dim=-2)  # (length, d_model)
    ### END SOLUTION


def rotary_angles(positions: Tensor, d: int, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    """Return cosine and sine of the angle of each pair at each position: (T,) -> two (T, d/2).

    *positions* may be any numbers, including fractions and negative ones. Pair i of a vector with
    *d* features is rotated by the angle position / base^(2i / d). Returns the tuple (cos, sin). The
    number of tensor operations does not grow with T. Raises ``ValueError`` if *d* is odd.
    """
    ### BEGIN SOLUTION
    if d % 2 != 0:
        raise ValueError(f"{d} features can't be shared out in pairs")

    frequencies = base ** (-torch.arange(0, d, 2) / d)  # (d/2,)
    angles = positions[:, None] * frequencies  # (T, d/2)
    return angles.cos(), angles.sin()
    ### END SOLUTION


def apply_rotary(x: Tensor, cos: Tensor, sin: Tensor, halves: bool = False) -> Tensor:
    """Rotate each pair of features by its angle: (…, T, d), two (T, d/2) -> (…, T, d).

    Pair i consists of features 2i and 2i + 1. If *halves* is True, it consists of features i and
    i + d/2. Pair i of token t, (a, b), becomes (a cos - b sin, a sin + b cos), with the cosine and
    the sine in row t and column i. The two new features replace a and b in their places. Any number
    of axes may come before T. The number of tensor operations does not grow with T.
    """
    ### BEGIN SOLUTION
    if halves:
        a, b = x.chunk(2, dim=-1)  # (…, T, d/2)
    else:
        a, b = x[..., 0::2], x[..., 1::2]

    turned = a * cos - b * sin, a * sin + b * cos
    if halves:
        return torch.cat(turned, dim=-1)  # (…, T, d)
    return torch.stack(turned, dim=-1).flatten(start_dim=-2)
    ### END SOLUTION


def alibi_slopes(num_heads: int) -> Tensor:
    """Return the slope of each head: (H,).

    If H = *num_heads* is a power of 2, head h = 0, 1, … has the slope 2^(-8 (h + 1) / H).
    Otherwise P is the largest power of 2 below H. The first P heads have the slopes for P heads,
    and the other heads have the first, third, fifth, … of the slopes for 2P heads.
    """
    ### BEGIN SOLUTION
    P = 2 ** (num_heads.bit_length() - 1)  # the largest power of 2 up to H
    slopes = [2 ** (-8 * (h + 1) / P) for h in range(P)]
    between = [2 ** (-8 * (h + 1) / (2 * P)) for h in range(0, 2 * P, 2)]
    return torch.tensor(slopes + between[: num_heads - P])
    ### END SOLUTION


def alibi_bias(num_heads: int, num_queries: int, num_keys: int) -> Tensor:
    """Return the bias that is added to the scores of each head: (H, Tq, Tk).

    The bias is minus the slope of the head times the distance from the query back to the key. The
    last query is at the position of the last key, and Tq is at most Tk. Entries for keys after the
    query may have any value, because a causal mask hides them.
    """
    ### BEGIN SOLUTION
    keys = torch.arange(num_keys)
    queries = torch.arange(num_keys - num_queries, num_keys)
    distances = queries[:, None] - keys  # (Tq, Tk)
    return -alibi_slopes(num_heads)[:, None, None] * distances  # (H, Tq, Tk)
    ### END SOLUTION


class RotaryAttention(nn.Module):
    """Causal multi-head attention whose queries and keys are rotated by their positions.

    Layers, created in this order: W_query, W_key, W_value, each an ``nn.Linear`` from d_in to d_out
    features without a bias; out_proj, an ``nn.Linear`` from d_out to d_out features with a bias.
    The layers keep the initial values that torch draws. Each of the *num_heads* heads works on d =
    d_out / num_heads neighbouring features. *base* is the base of ``rotary_angles``. Raises
    ``ValueError`` if *num_heads* does not divide *d_out*, or if d is odd.
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
        ### BEGIN SOLUTION
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads can't share {d_out} features evenly")
        if d_out // num_heads % 2 != 0:
            raise ValueError(f"{d_out // num_heads} features of a head can't be put in pairs")
        self.context_length = context_length
        self.num_heads = num_heads
        self.base = base

        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)
        ### END SOLUTION

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
        ### BEGIN SOLUTION
        B, T, _ = x.shape
        if self.context_length < T:
            raise ValueError(f"{T} tokens do not fit into a context of {self.context_length}")

        queries = self.W_query(x)  # (B, T, d_out)
        keys = self.W_key(x)
        values = self.W_value(x)

        H, d = self.num_heads, queries.shape[-1] // self.num_heads
        queries = queries.view(B, T, H, d).transpose(1, 2)  # (B, H, T, d)
        keys = keys.view(B, T, H, d).transpose(1, 2)
        values = values.view(B, T, H, d).transpose(1, 2)

        positions = torch.arange(offset, offset + T)
        cos, sin = rotary_angles(positions, d, self.base)  # (T, d/2)
        queries = apply_rotary(queries, cos, sin)
        keys = apply_rotary(keys, cos, sin)

        scores = queries @ keys.transpose(-2, -1)  # (B, H, T, T), one row per query
        future = torch.ones_like(scores).triu(diagonal=1) == 1
        masked = scores.masked_fill(future, float("-inf"))
        weights = torch.softmax(masked / d**0.5, dim=-1)
        context = weights @ values  # (B, H, T, d)

        context = context.transpose(1, 2).reshape(B, T, H * d)  # (B, T, d_out)
        return self.out_proj(context)
        ### END SOLUTION
