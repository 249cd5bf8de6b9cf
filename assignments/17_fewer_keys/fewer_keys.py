"""Fewer keys: shared keys, sliding windows, and the attention of a modern decoder.

Shapes in this stage: B items in the batch, T tokens in each, H query heads, G key-value heads, d
features in each head, d_in features per token, d_out = H · d features per context vector. Query
heads 0 to H/G - 1 share key-value head 0, the next H/G query heads share head 1, and so on. The
caller sets the seed.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Torch's own attention functions and layers (`nn.MultiheadAttention`, ...) are not allowed.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor, nn


def repeat_heads(x: Tensor, num_heads: int) -> Tensor:
    """Repeat key or value heads, so that each query head has one: (B, G, T, d) -> (B, H, T, d).

    H is *num_heads*. Head h of the result is head h // (H/G) of *x*, so the H/G heads of a group
    are next to each other. Raises ``ValueError`` if G does not divide H.
    """
    raise NotImplementedError


def window_mask(length: int, window: int, sinks: int = 0) -> Tensor:
    """Mark the keys that each token sees: (T, T), with 1 or True if visible, else 0 or False.

    T is *length*. Row i belongs to query i, and column j belongs to key j. No query sees a later
    key. Of the keys up to its own position, query i sees the nearest *window* keys, including its
    own, and the first *sinks* keys of the text. Raises ``ValueError`` if *window* is below 1.
    """
    raise NotImplementedError


def cache_bytes(
    context_length: int,
    head_size: int,
    num_kv_heads: int,
    num_layers: int,
    bytes_per_number: int = 2,
    batch_size: int = 1,
    window: int | None = None,
) -> int:
    """Return how many bytes the cached keys and values of a whole model take, as an int.

    Each of the *num_layers* layers caches the keys and values of *num_kv_heads* heads, for each of
    the *context_length* tokens of each of the *batch_size* texts. With a *window*, a layer caches
    at most *window* tokens of each text.
    """
    raise NotImplementedError


class GroupedQueryAttention(nn.Module):
    """Causal multi-head attention with fewer key-value heads than query heads.

    The queries have H = *num_heads* heads of d = d_out / num_heads features; keys and values have
    G = *num_kv_heads* heads of the same size d. Layers, created in this order: W_query, an
    ``nn.Linear`` from d_in to d_out features without a bias; W_key and W_value, each an
    ``nn.Linear`` from d_in to G · d features without a bias; out_proj, an ``nn.Linear`` from d_out
    to d_out features with a bias. Raises ``ValueError`` if *num_heads* does not divide *d_out*, or
    if *num_kv_heads* does not divide *num_heads*.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        num_heads: int,
        num_kv_heads: int,
        window: int | None = None,
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Return the context vector of each token: (B, T, d_in) -> (B, T, d_out).

        Queries are split into H heads, and keys and values into G heads. Query head h attends to
        key-value head h // (H/G), causally, with scores divided by the square root of d. With a
        *window*, a token sees only the nearest *window* tokens, including itself, as in
        ``window_mask`` without sinks. The heads are merged, and out_proj mixes their features. T
        can be any number up to context_length. The number of tensor operations does not grow with
        T. Raises ``ValueError`` if T is greater than context_length.
        """
        raise NotImplementedError


def rotary_angles(positions: Tensor, d: int, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    """Your angles from stage 13, which the kit copies once they have passed there.

    Returns the tuple (cos, sin) of the angle of each pair at each position: (T,) -> two (T, d/2).
    Pair i of a vector with *d* features is rotated by the angle position / base^(2i / d). Raises
    ``ValueError`` if *d* is odd.
    """
    raise NotImplementedError


def apply_rotary(x: Tensor, cos: Tensor, sin: Tensor, halves: bool = False) -> Tensor:
    """Your rotation from stage 13, which the kit copies once it has passed there.

    Rotates each pair of features by its angle: (…, T, d), two (T, d/2) -> (…, T, d). Pair i
    consists of features 2i and 2i + 1, or of features i and i + d/2 if *halves* is True.
    """
    raise NotImplementedError


def extend_cache(
    cache: tuple[Tensor, Tensor, int] | None,
    keys: Tensor,
    values: Tensor,
    window: int | None = None,
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor, int]]:
    """Add new tokens to a cache: return ((all keys, all values), next cache).

    *keys* and *values* of T new tokens have the shape (B, G, T, d), with the oldest token first.
    *cache* is None at the start of a text, or the tuple (keys, values, seen) of C cached tokens,
    where the int *seen* counts all tokens so far. All keys and values, (B, G, C + T, d), are those
    of the cached tokens, followed by those of the new ones.

    The next cache is the tuple (kept keys, kept values, seen + T). Without a *window*, all tokens
    are kept. With a window, only the last window - 1 tokens are kept, or all tokens if there are
    fewer, because the next token needs no others. Raises ``ValueError`` if *window* is below 1.
    """
    raise NotImplementedError


def cached_mask(num_new: int, num_cached: int, window: int | None = None) -> Tensor:
    """Mark the keys that each new token sees: (T, C + T), with 1 or True if visible, else 0.

    T is *num_new*, and C is *num_cached*. Row i belongs to new token i. The first C columns belong
    to the cached tokens, the oldest first, and column C + i belongs to new token i. A new token
    sees the cached tokens, the new tokens before it, and itself. With a *window*, it sees only the
    nearest *window* of these. Raises ``ValueError`` if *window* is below 1.
    """
    raise NotImplementedError


class DecoderAttention(nn.Module):
    """The attention of a modern decoder: with rotary positions, head groups, a window and a cache.

    The layers are those of ``GroupedQueryAttention``, with d_in = d_out = *d_model*. *base* is the
    base of ``rotary_angles``. Raises ``ValueError`` if *num_heads* does not divide *d_model*, if
    *num_kv_heads* does not divide *num_heads*, or if the head size d = d_model / num_heads is odd.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        num_kv_heads: int,
        window: int | None = None,
        base: float = 10000.0,
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(
        self, x: Tensor, cache: tuple[Tensor, Tensor, int] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor, int]]:
        """Attend from T new tokens: (B, T, d_model) -> context (B, T, d_model), and a cache.

        *cache* is the second result of the previous call, or None at the start of a text: the tuple
        (keys, values, seen) of ``extend_cache``. The first new token is at position *seen*, the
        number of tokens so far. In each head, pairs (2i, 2i + 1) of queries and new keys are
        rotated by the angles of their positions; values are not rotated. Keys are cached after
        their rotation. The cache has G heads, and with a window it holds only the last window - 1
        tokens, or all tokens if there are fewer.

        Each token is projected once, in the call in which it is new. It sees the keys that
        ``cached_mask`` marks: the cached tokens, the new tokens before it, and itself, and with a
        window only the nearest *window* of these. The call works for any T. The number of tensor
        operations does not grow with T. The module stores nothing between calls.
        """
        raise NotImplementedError
