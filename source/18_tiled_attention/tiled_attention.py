"""Attention that never holds all its weights: exact attention, tile by tile, with running results.

A *tile* is a group of neighbouring tokens. Attention over one tile of keys gives two results for
each query: its context vector, as if there were no other keys, and the *logsumexp* of its scores,
log(Σ exp(score)), which sets the weight of the tile. With both results, two tiles can be merged,
and no tensor ever holds the scores of all queries and all keys. Shapes: Tq queries, Tk keys, d
features of a query or key, d_v features of a value; "..." are any leading axes, such as batch and
heads, the same for all arguments.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so use no in-place operations on them.
- Torch's own attention functions and layers (`nn.MultiheadAttention`, ...) are not allowed.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor


def online_max_and_sum(scores: Tensor, tile_size: int) -> tuple[Tensor, Tensor]:
    """Return the largest score m, and the sum of exp(score - m), as two tensors without axes.

    *scores* is one row of T finite scores: (T,). The code goes through it once, from left to right,
    in tiles of *tile_size* scores; the last tile may be shorter. It reads each tile once: no
    operation works on all T scores at the same time, only on a slice of them. The results are
    finite, however large or small the scores are. Torch's own softmax and logsumexp are not allowed
    here.
    """
    raise NotImplementedError


def attend_tile(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    scale: float | None = None,
    hidden: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the context vectors and the logsumexp of the scores, as a tuple in this order.

    Shapes: (..., Tq, d), (..., Tk, d), (..., Tk, d_v) give a context of (..., Tq, d_v) and a
    logsumexp of (..., Tq).

    The scores are the dot products of queries and keys times *scale*, which is 1/√d if it is None.
    The context vectors are softmax(scores) times the values, and the logsumexp of a query is
    log(Σ exp(score)) over its keys. Where *hidden* is True, a query does not see a key: the key
    affects neither result. *hidden* is a tensor of booleans that can be broadcast to (..., Tq, Tk);
    None hides nothing. A query that sees no key at all has a context vector of zeros and a
    logsumexp of minus infinity. The results are finite otherwise, however large or small the scores
    are. Torch's own softmax and logsumexp are not allowed here.
    """
    raise NotImplementedError


def merge_tiles(
    context_a: Tensor, logsumexp_a: Tensor, context_b: Tensor, logsumexp_b: Tensor
) -> tuple[Tensor, Tensor]:
    """Return context and logsumexp over the keys of both sides, as a tuple in this order.

    Side a is what ``attend_tile`` returns for some keys, and side b for other keys and the same
    queries: contexts of (..., Tq, d_v), logsumexps of (..., Tq), in arguments and results. The
    result is that of ``attend_tile`` for all these keys together. A side without visible keys, with
    a logsumexp of minus infinity, leaves the other side as it is; if neither side has any, nor does
    the result. The results are finite otherwise, however large or small the logsumexps are. You may
    use any operation.
    """
    raise NotImplementedError


def tiled_attention(
    queries: Tensor, keys: Tensor, values: Tensor, tile_size: int, causal: bool = False
) -> Tensor:
    """Return the context vectors of scaled dot-product attention, computed tile by tile.

    Shapes: (..., Tq, d), (..., Tk, d), (..., Tk, d_v) -> (..., Tq, d_v). The scale is 1/√d.

    Keys and values are taken in tiles of *tile_size* tokens, and queries too if you like; the last
    tile may be shorter, and *tile_size* may be larger than Tq and Tk. The result does not depend on
    it. If *causal* is true, no query sees a key after its own token. The last query belongs to the
    last key, so query i sees the keys up to i + Tk - Tq; Tq is at most Tk then.

    No operation gives a tensor of Tq · Tk numbers: no matrix of all scores or weights, and no mask
    of this size. The gradients of queries, keys and values are those of attention at once, and
    finite. Gradients flow back to all inputs and trainable parameters, without `.detach()` or
    `.item()`.
    """
    raise NotImplementedError
