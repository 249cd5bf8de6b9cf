"""A correct solution in a functional style: tiles are mapped, and folded in pairs from the right."""

from functools import reduce
from itertools import starmap

import torch


def fold_numbers(left, right):
    top = torch.maximum(left[0], right[0])
    return top, sum(z * torch.exp(m - top) for m, z in (left, right))


def online_max_and_sum(scores, tile_size):
    def of_tile(tile):
        return tile.max(), torch.exp(tile - tile.max()).sum()

    return reduce(fold_numbers, map(of_tile, scores.split(tile_size)))


def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = queries.size(-1) ** -0.5 if scale is None else scale
    scores = torch.baddbmm(
        torch.zeros((), dtype=queries.dtype),
        queries.reshape(-1, *queries.shape[-2:]),
        keys.reshape(-1, *keys.shape[-2:]).mT,
        beta=0,
        alpha=scale,
    ).view(*queries.shape[:-1], keys.size(-2))
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    top = scores.amax(-1)
    top = top.masked_fill(top.isinf(), 0)
    weights = (scores - top.unsqueeze(-1)).exp()
    ones = torch.ones_like(values[..., :1])
    extended = weights @ torch.cat((values, ones), -1)  # the last column is the sum
    context, z = extended[..., :-1], extended[..., -1]
    return context / z.masked_fill(z == 0, 1).unsqueeze(-1), top + z.log()


def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    contexts = torch.stack((context_a, context_b), -2)  # (..., Tq, 2, d_v)
    numbers = torch.stack((logsumexp_a, logsumexp_b), -1)  # (..., Tq, 2)
    top = numbers.amax(-1, keepdim=True)
    top = torch.where(top > -torch.inf, top, 0)
    sums = torch.exp(numbers - top)
    z = sums.sum(-1, keepdim=True)
    shares = sums / torch.where(z > 0, z, 1)
    return (shares.unsqueeze(-2) @ contexts).squeeze(-2), (top + z.log()).squeeze(-1)


def tiled_attention(queries, keys, values, tile_size, causal=False):
    shift = keys.size(-2) - queries.size(-2)
    numbers = torch.arange(keys.size(-2)).split(tile_size)
    pieces = list(zip(keys.split(tile_size, -2), values.split(tile_size, -2), numbers))

    def of_queries(q, own):
        def of_keys(k, v, number):
            hidden = number.view(1, -1) > own.view(-1, 1) + shift if causal else None
            return attend_tile(q, k, v, None, hidden)

        return reduce(lambda one, other: merge_tiles(*other, *one), starmap(of_keys, pieces))[0]

    own = torch.arange(queries.size(-2)).split(tile_size)
    return torch.cat([of_queries(*each) for each in zip(queries.split(tile_size, -2), own)], -2)
