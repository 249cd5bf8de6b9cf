"""Attention that never holds all its weights: exact, tile by tile, with running results.

A *tile* is a group of consecutive tokens. Attention over one tile of keys gives two results for
each query: its context vector, as if there were no other keys, and the *logsumexp* of its scores,
log(Σ exp(score)), which determines the weight of the tile. With both results, two tiles can be
merged, so no tensor ever holds the scores of all queries and all keys. Shapes: Tq queries, Tk keys,
d features of a query or key, d_v features of a value. "..." stands for any leading axes, such as
batch and heads, which are the same for all arguments.

Rules for this stage, which are graded like the results:

- Results keep the dtype of the inputs: float32 stays float32, and float64 stays float64.
- A call must not change the tensors that it gets, so do not use in-place operations on them.
- Torch's own attention functions and layers (`nn.MultiheadAttention`, ...) are not allowed.
- Documented values and properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor


def online_max_and_sum(scores: Tensor, tile_size: int) -> tuple[Tensor, Tensor]:
    """Return the largest score m and the sum of exp(score - m), as two tensors without axes.

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

    The scores are the dot products of queries and keys, multiplied by *scale*. A *scale* of None
    means 1/√d. The context vectors are softmax(scores) times the values, and the logsumexp of a
    query is log(Σ exp(score)) over its visible keys. Where *hidden* is True, the query does not see
    the key, so the key affects neither result. *hidden* is a tensor of booleans that can be
    broadcast to (..., Tq, Tk); None hides nothing. A query that sees no key at all has a context
    vector of zeros and a logsumexp of minus infinity. All other results are finite, however large
    or small the scores are. Torch's own softmax and logsumexp are not allowed here.
    """
    raise NotImplementedError


def merge_tiles(
    context_a: Tensor, logsumexp_a: Tensor, context_b: Tensor, logsumexp_b: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the context and logsumexp over the keys of both sides, as a tuple in this order.

    Side a is the result of ``attend_tile`` for some keys, and side b is its result for other keys
    and the same queries. In arguments and results, a context has the shape (..., Tq, d_v), and a
    logsumexp has the shape (..., Tq). The merged result is that of ``attend_tile`` for all these
    keys together. A side without visible keys has a logsumexp of minus infinity and does not change
    the other side. If neither side has visible keys, the result is a context of zeros and a
    logsumexp of minus infinity. All other results are finite, however large or small the logsumexps
    are. You may use any operation.
    """
    raise NotImplementedError


def tiled_attention(
    queries: Tensor, keys: Tensor, values: Tensor, tile_size: int, causal: bool = False
) -> Tensor:
    """Return the context vectors of scaled dot-product attention, computed tile by tile.

    Shapes: (..., Tq, d), (..., Tk, d), (..., Tk, d_v) -> (..., Tq, d_v). The scale is 1/√d.

    Keys and values are read in tiles of *tile_size* tokens, and so are queries if you like. The
    last tile may be shorter, and *tile_size* may be larger than Tq and Tk. The result does not
    depend on *tile_size*. If *causal* is true, no query sees a key after its own token. In this
    case Tq is at most Tk, and the last query belongs to the last key, so query i sees the keys up
    to i + Tk - Tq.

    No operation gives a tensor of Tq · Tk numbers: no matrix of all scores or weights, and no mask
    of this size. The gradients of queries, keys and values are finite and equal those of attention
    without tiles. Gradients flow back to all inputs and trainable parameters, without `.detach()`
    or `.item()`.
    """
    raise NotImplementedError
