"""Fewer keys: shared keys, sliding windows, and the attention of a modern decoder.

Shapes in this stage: B items in the batch, T tokens in each, H query heads, G key-value heads, d
features in each head, d_in features per token, d_out = H · d features per context vector. Query
heads 0 to H/G - 1 share key-value head 0, the next H/G query heads share head 1, and so on. The
caller sets the seed.
"""

import torch
from torch import Tensor, nn


def repeat_heads(x: Tensor, num_heads: int) -> Tensor:
    """Repeat key or value heads, so that each query head has one: (B, G, T, d) -> (B, H, T, d).

    H is *num_heads*. Head h of the result is head h // (H/G) of *x*, so the H/G heads of a group
    are next to each other. Raises ``ValueError`` if G does not divide H.
    """
    ### BEGIN SOLUTION
    H, G = num_heads, x.shape[1]
    if H % G != 0:
        raise ValueError(f"{H} query heads can't share {G} key-value heads evenly")

    return x.repeat_interleave(H // G, dim=1)
    ### END SOLUTION


def window_mask(length: int, window: int, sinks: int = 0) -> Tensor:
    """Mark the keys that each token sees: (T, T), with 1 or True if visible, else 0 or False.

    T is *length*. Row i belongs to query i, and column j belongs to key j. No query sees a later
    key. Of the keys up to its own position, query i sees the nearest *window* keys, including its
    own, and the first *sinks* keys of the text. Raises ``ValueError`` if *window* is below 1.
    """
    ### BEGIN SOLUTION
    if window < 1:
        raise ValueError(f"a window holds at least the token itself, not {window} tokens")

    i = torch.arange(length)[:, None]  # (T, 1)
    j = torch.arange(length)
    visible = (i - j < window) | (j < sinks)  # (T, T)
    return visible & (j <= i)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    tokens = context_length if window is None else min(context_length, window)
    numbers = 2 * num_kv_heads * head_size  # keys and values of one token in one layer
    return batch_size * tokens * num_layers * numbers * bytes_per_number
    ### END SOLUTION


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
        ### BEGIN SOLUTION
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads can't share {d_out} features evenly")
        if num_heads % num_kv_heads != 0:
            raise ValueError(
                f"{num_heads} query heads can't share {num_kv_heads} key-value heads evenly"
            )
        self.context_length = context_length
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.window = window

        d = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, num_kv_heads * d, bias=False)
        self.W_value = nn.Linear(d_in, num_kv_heads * d, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Return the context vector of each token: (B, T, d_in) -> (B, T, d_out).

        Queries are split into H heads, and keys and values into G heads. Query head h attends to
        key-value head h // (H/G), causally, with scores divided by the square root of d. With a
        *window*, a token sees only the nearest *window* tokens, including itself, as in
        ``window_mask`` without sinks. The heads are merged, and out_proj mixes their features. T
        can be any number up to context_length. The number of tensor operations does not grow with
        T. Raises ``ValueError`` if T is greater than context_length.
        """
        ### BEGIN SOLUTION
        B, T, _ = x.shape
        if self.context_length < T:
            raise ValueError(f"{T} tokens do not fit into a context of {self.context_length}")

        queries = self.W_query(x)  # (B, T, H · d)
        keys = self.W_key(x)  # (B, T, G · d)
        values = self.W_value(x)

        H, G, d = self.num_heads, self.num_kv_heads, queries.shape[-1] // self.num_heads
        queries = queries.view(B, T, H, d).transpose(1, 2)  # (B, H, T, d)
        keys = keys.view(B, T, G, d).transpose(1, 2)  # (B, G, T, d)
        values = values.view(B, T, G, d).transpose(1, 2)
        keys = repeat_heads(keys, H)  # (B, H, T, d)
        values = repeat_heads(values, H)

        scores = queries @ keys.transpose(-2, -1)  # (B, H, T, T), one row per query
        visible = window_mask(T, T if self.window is None else self.window)
        masked = scores.masked_fill(visible == 0, float("-inf"))
        weights = torch.softmax(masked / d**0.5, dim=-1)
        context = weights @ values  # (B, H, T, d)

        context = context.transpose(1, 2).reshape(B, T, H * d)  # (B, T, d_out)
        return self.out_proj(context)
        ### END SOLUTION


def rotary_angles(positions: Tensor, d: int, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    """Your angles from stage 13, which the kit copies once they have passed there.

    Returns the tuple (cos, sin) of the angle of each pair at each position: (T,) -> two (T, d/2).
    Pair i of a vector with *d* features is rotated by the angle position / base^(2i / d). Raises
    ``ValueError`` if *d* is odd.
    """
    ### BEGIN SOLUTION
    if d % 2 != 0:
        raise ValueError(f"{d} features can't be shared out in pairs")

    frequencies = base ** (-torch.arange(0, d, 2) / d)  # (d/2,)
    angles = positions[:, None] * frequencies  # (T, d/2)
    return angles.cos(), angles.sin()
    ### END SOLUTION


def apply_rotary(x: Tensor, cos: Tensor, sin: Tensor, halves: bool = False) -> Tensor:
    """Your rotation from stage 13, which the kit copies once it has passed there.

    Rotates each pair of features by its angle: (…, T, d), two (T, d/2) -> (…, T, d). Pair i
    consists of features 2i and 2i + 1, or of features i and i + d/2 if *halves* is True.
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
    ### BEGIN SOLUTION
    if window is not None and window < 1:
        raise ValueError(f"a window holds at least the token itself, not {window} tokens")

    T, seen = keys.shape[2], 0
    if cache is not None:
        seen = cache[2]
        keys = torch.cat((cache[0], keys), dim=2)  # (B, G, C + T, d)
        values = torch.cat((cache[1], values), dim=2)

    K = keys.shape[2]
    forgotten = 0 if window is None else max(0, K - (window - 1))
    kept = keys[:, :, forgotten:], values[:, :, forgotten:], seen + T
    return (keys, values), kept
    ### END SOLUTION


def cached_mask(num_new: int, num_cached: int, window: int | None = None) -> Tensor:
    """Mark the keys that each new token sees: (T, C + T), with 1 or True if visible, else 0.

    T is *num_new*, and C is *num_cached*. Row i belongs to new token i. The first C columns belong
    to the cached tokens, the oldest first, and column C + i belongs to new token i. A new token
    sees the cached tokens, the new tokens before it, and itself. With a *window*, it sees only the
    nearest *window* of these. Raises ``ValueError`` if *window* is below 1.
    """
    ### BEGIN SOLUTION
    if window is not None and window < 1:
        raise ValueError(f"a window holds at least the token itself, not {window} tokens")

    i = torch.arange(num_cached, num_cached + num_new)[:, None]  # (T, 1), the new tokens
    j = torch.arange(num_cached + num_new)
    visible = j <= i  # (T, C + T)
    if window is not None:
        visible = visible & (i - j < window)
    return visible
    ### END SOLUTION


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
        ### BEGIN SOLUTION
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads can't share {d_model} features evenly")
        if num_heads % num_kv_heads != 0:
            raise ValueError(
                f"{num_heads} query heads can't share {num_kv_heads} key-value heads evenly"
            )
        if d_model // num_heads % 2 != 0:
            raise ValueError(f"{d_model // num_heads} features of a head can't be put in pairs")
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.window = window
        self.base = base

        d = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * d, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * d, bias=False)
        self.out_proj = nn.Linear(d_model, d_model)
        ### END SOLUTION

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
        ### BEGIN SOLUTION
        B, T, _ = x.shape
        queries = self.W_query(x)  # (B, T, H · d)
        keys = self.W_key(x)  # (B, T, G · d)
        values = self.W_value(x)

        H, G, d = self.num_heads, self.num_kv_heads, queries.shape[-1] // self.num_heads
        queries = queries.view(B, T, H, d).transpose(1, 2)  # (B, H, T, d)
        keys = keys.view(B, T, G, d).transpose(1, 2)  # (B, G, T, d)
        values = values.view(B, T, G, d).transpose(1, 2)

        seen = 0 if cache is None else cache[2]
        positions = torch.arange(seen, seen + T)
        cos, sin = rotary_angles(positions, d, self.base)  # (T, d/2)
        queries = apply_rotary(queries, cos, sin)
        keys = apply_rotary(keys, cos, sin)

        (keys, values), cache = extend_cache(cache, keys, values, self.window)
        keys = repeat_heads(keys, H)  # (B, H, C + T, d)
        values = repeat_heads(values, H)

        scores = queries @ keys.transpose(-2, -1)  # (B, H, T, C + T), one row per query
        visible = cached_mask(T, keys.shape[2] - T, self.window)
        masked = scores.masked_fill(visible == 0, float("-inf"))
        weights = torch.softmax(masked / d**0.5, dim=-1)
        context = weights @ values  # (B, H, T, d)

        context = context.transpose(1, 2).reshape(B, T, H * d)  # (B, T, d_model)
        return self.out_proj(context), cache
        ### END SOLUTION
