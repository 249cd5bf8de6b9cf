"""The KV cache: decode token by token, with keys and values that are computed only once.

A *cache* is a tuple (keys, values) of all tokens so far, the oldest first. Each call gets a cache
and returns a new one. Your code keeps nothing between calls, so two texts cannot mix. A cache of
None or of 0 tokens means that there are no tokens so far.

Shapes in this stage: a call gets T_new new tokens, at least one, and returns a cache of T tokens,
old and new. B items in the batch, H heads of size d, d_in features per token, V tokens in the
vocabulary. The rows of a (T_new, T) matrix are queries, and its columns are keys.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Torch's own attention functions and layers (`nn.MultiheadAttention`, ...) are not allowed.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor, nn


def lower_right_mask(num_queries: int, num_keys: int) -> Tensor:
    """Mark the keys that the last queries of a text see: a tensor of shape (num_queries, num_keys).

    The queries belong to the last tokens, so the last query and the last key belong to the same
    token: the mask is aligned to the lower right corner. Query i sees key j if
    j <= i + num_keys - num_queries. The entry of a visible key is 1 or True, and that of a hidden
    key is 0 or False. With more queries than keys, the first queries see no key.
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

    Shapes: x_new (T_new, d_in), the three matrices (d_in, d), context (T_new, d), keys and values
    in the result (T, d), keys and values in *cache* (T - T_new, d). The projections are
    x_new @ W_query, x_new @ W_key and x_new @ W_value.

    In the result, the keys and values of the new tokens follow those of *cache*, which do not
    change. A new token attends to itself and to all old and new tokens before it. It does not see
    the new tokens after it. The scores are divided by √d. Each token is projected once, in the call
    in which it is new.
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
    """Generate *new_tokens* tokens after the token *first*: return all ids, a list of int.

    Shapes: embeddings (V, d_in), one row for each token of the vocabulary; W_query, W_key and
    W_value (d_in, d), W_out (d, d_model), W_vocab (d_model, V). The list starts with *first* and
    has 1 + new_tokens ids.

    Each step attends from the newest token to all tokens so far, as ``attend_with_cache`` does. Its
    logits are context @ W_out @ W_vocab, and the token with the largest logit comes next. Each
    token is projected once, in the step in which it is the newest.
    """
    raise NotImplementedError


class CachedMultiHeadAttention(nn.Module):
    """Causal attention with several heads that continues from a cache.

    Layers, created in this order: W_query, W_key, W_value, each an ``nn.Linear`` from d_in to d_out
    features with a bias only if *qkv_bias* is true; out_proj, an ``nn.Linear`` from d_out to d_out
    features with a bias. Each of the *num_heads* heads works on a block of d = d_out / num_heads
    consecutive features. Raises ``ValueError`` if *num_heads* does not divide *d_out*.
    """

    def __init__(self, d_in: int, d_out: int, num_heads: int, qkv_bias: bool = False) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Attend from the new tokens *x* to all tokens so far: return (context, (keys, values)).

        Shapes: x (B, T_new, d_in), context (B, T_new, d_out), keys and values in the result
        (B, H, T, d), keys and values in *cache* (B, H, T - T_new, d). Keys and values are split
        into heads.

        In every head, the new tokens attend as in ``attend_with_cache``, with scores divided by √d.
        The heads are merged, and out_proj mixes their features. The call works for any T_new and T.
        Each token is projected once, in the call in which it is new.
        """
        raise NotImplementedError
