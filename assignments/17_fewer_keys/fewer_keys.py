"""Fewer keys: shared keys, sliding windows, and the attention of a modern decoder.

Shapes in this stage: B items in the batch, T tokens in each, H query heads, G key-value heads, d
features in each head, d_in features per token, d_out = H · d features per context vector. Query
heads 0 to H/G - 1 share key-value head 0, the next H/G query heads share head 1, and so on. The
caller sets the seed.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so use no in-place operations on them.
- Gradients flow back to all inputs and trainable parameters, without `.detach()` or `.item()`.
- Torch's own attention functions and layers (`nn.MultiheadAttention`, ...) are not allowed.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor, nn


def repeat_heads(x: Tensor, num_heads: int) -> Tensor:
    """Give each query head its key or value head: (B, G, T, d) -> (B, H, T, d).

    H is *num_heads*. Head h of the result is head h // (H/G) of *x*, so that the H/G heads of one
    group are neighbours. Raises ``ValueError`` if G does not divide H.
    """
    raise NotImplementedError


def window_mask(length: int, window: int, sinks: int = 0) -> Tensor:
    """Mark what each token sees: (T, T), with 1 or True where a key is visible, else 0 or False.

    T is *length*; row i is a query, column j a key. No query sees a later key. Of the keys up to
    its own position, query i sees the nearest *window*, its own key included, and the first *sinks*
    keys of the text. Raises ``ValueError`` if *window* is below 1.
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

    Each of the *num_layers* layers caches keys and values of *num_kv_heads* heads for each of the
    *context_length* tokens of each of *batch_size* texts. With a *window*, a layer caches *window*
    tokens of a text at most.
    """
    raise NotImplementedError


class GroupedQueryAttention(nn.Module):
    """Causal multi-head attention with fewer key-value heads than query heads.

    The queries have H = *num_heads* heads of d = d_out / num_heads features; keys and values have
    G = *num_kv_heads* heads of the same size d. Layers, created in this order: W_query, an
    ``nn.Linear`` from d_in to d_out features; W_key and W_value, each an ``nn.Linear`` from d_in to
    G · d features; these three have no bias; out_proj, an ``nn.Linear`` from d_out to d_out
    features with a bias. Raises ``ValueError`` if *num_heads* does not divide *d_out*, and if
    *num_kv_heads* does not divide *num_heads*.
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
        """Mix the values of tokens up to each token in every head: (B, T, d_in) -> (B, T, d_out).

        Queries are split into H heads, keys and values into G. Query head h attends to key-value
        head h // (H/G), causally, with scores divided by the square root of d. With a *window*, a
        token sees the nearest *window* tokens only, itself included, as in ``window_mask`` without
        sinks. The heads are merged, and out_proj mixes their features. Works for any T up to
        context_length, with a number of tensor operations that does not grow with T. Raises
        ``ValueError`` if T is above context_length.
        """
        raise NotImplementedError


class DecoderAttention(nn.Module):
    """The attention of a modern decoder: rotated, grouped, windowed, and cached.

    The layers are those of ``GroupedQueryAttention``, with d_in = d_out = *d_model*. Positions
    enter as in ``RotaryAttention`` of stage 13, whose functions you may copy to this file: pairs
    (2i, 2i + 1) of a query or key are rotated by position / base^(2i / d). Raises ``ValueError`` if
    *num_heads* does not divide *d_model*, if *num_kv_heads* does not divide *num_heads*, and if the
    head size d = d_model / num_heads is odd.
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
        """Continue a text by T tokens: (B, T, d_model) -> context (B, T, d_model), and a cache.

        *cache* is the second result of the previous call, and None at the start of a text. It is
        the tuple (keys, values, seen): *seen*, an int, is the number of tokens so far, so the first
        of the new tokens is at position *seen*. Keys (rotated by their positions) and values (not
        rotated) have the shape (B, G, tokens, d), the oldest token first. Without a window they
        belong to all tokens so far; with one, to the last window - 1 of them, or to fewer if there
        are not so many: the next token needs no others.

        Each token is projected once, in the call in which it is new. It sees the cached tokens, the
        new ones before it and itself, but with a window only the nearest *window* of these. Works
        for any T. The number of tensor operations does not grow with T. Nothing is kept in the
        module.
        """
        raise NotImplementedError
