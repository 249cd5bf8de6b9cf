"""The KV cache: decode token by token, from keys and values that are computed only once.

A *cache* is a tuple (keys, values) of all tokens so far, in their order. It is an argument and a
result of each call: your code keeps nothing between calls, so two texts cannot mix. None means
that there are no tokens so far, and a cache of 0 tokens means the same.

Shapes in this stage: T_new tokens arrive in a call, at least one, and T tokens are in the cache
that the call returns: the new ones and those of the cache that it got. B items in the batch, H
heads of size d, d_in features per token, V tokens in the vocabulary. Rows of a (T_new, T) matrix
are queries, columns are keys.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so use no in-place operations on them.
- Torch's own attention functions and layers (`nn.MultiheadAttention`, ...) are not allowed.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor, nn


def lower_right_mask(num_queries: int, num_keys: int) -> Tensor:
    """Mark the keys that the last queries of a text see: a tensor of shape (num_queries, num_keys).

    The queries are those of the last tokens, so the last query belongs to the last key: the lower
    right corner. Query i sees key j if j <= i + num_keys - num_queries. A key that it sees is 1 or
    True, any other key is 0 or False. With more queries than keys, the first queries see nothing.
    """
    raise NotImplementedError


def attend_with_cache(
    x_new: Tensor,
    W_query: Tensor,
    W_key: Tensor,
    W_value: Tensor,
    cache: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Attend from new tokens to all tokens so far: return (context, (keys, values)).

    Shapes: x_new (T_new, d_in), the three matrices (d_in, d), context (T_new, d); keys and values,
    in the cache and in the result, (T, d). The projections are x_new @ W_query and so on.

    The keys and values of the new tokens follow those of the cache, which stay as they are. A new
    token attends to itself and to all tokens before it, old and new, with scores divided by √d; it
    does not see the new tokens after it. Each token is projected once, in the call in which it is
    new.
    """
    raise NotImplementedError


def decode(
    embeddings: Tensor,
    W_query: Tensor,
    W_key: Tensor,
    W_value: Tensor,
    W_out: Tensor,
    W_vocab: Tensor,
    first: int,
    new_tokens: int,
) -> list[int]:
    """Write *new_tokens* tokens after the token *first*: return all ids, a list of int.

    Shapes: embeddings (V, d_in), one row for each token of the vocabulary; W_query, W_key and
    W_value (d_in, d), W_out (d, d_model), W_vocab (d_model, V). The list starts with *first* and
    has 1 + new_tokens ids.

    Each step attends from the newest token to all tokens so far, as ``attend_with_cache`` does. Its
    logits are context @ W_out @ W_vocab, and the id of the largest logit comes next. Each token is
    projected once, in the step in which it is the newest.
    """
    raise NotImplementedError


class CachedMultiHeadAttention(nn.Module):
    """Causal attention with several heads that continues from a cache.

    Layers, created in this order: W_query, W_key, W_value, each an ``nn.Linear`` from d_in to d_out
    features with a bias only if *qkv_bias* is true; out_proj, an ``nn.Linear`` from d_out to d_out
    features with a bias. Each of the *num_heads* heads works on a block of d = d_out / num_heads
    neighbouring features. Raises ``ValueError`` if *num_heads* does not divide *d_out*.
    """

    def __init__(self, d_in: int, d_out: int, num_heads: int, qkv_bias: bool = False) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Attend from the new tokens *x* to all tokens so far: return (context, (keys, values)).

        Shapes: x (B, T_new, d_in), context (B, T_new, d_out); keys and values, in the cache and in
        the result, (B, H, T, d), split into heads.

        In every head the new tokens attend as in ``attend_with_cache``, with scores divided by √d.
        The heads are merged, and out_proj mixes their features. Works for any T_new and T. Each
        token is projected once, in the call in which it is new.
        """
        raise NotImplementedError
