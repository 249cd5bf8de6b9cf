"""A correct solution in another idiom: einsum, and a softmax over the two sides."""

import torch
from torch import einsum


def online_max_and_sum(scores, tile_size):
    best, total = scores[0], torch.zeros_like(scores[0])
    for tile in scores.split(tile_size):
        new = torch.stack((best, tile.amax())).amax()
        total = total * (best - new).exp() + (tile - new).exp().sum()
        best = new
    return best, total


def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    scores = einsum("...qd,...kd->...qk", queries, keys) * scale
    visible = torch.ones_like(scores).bool() if hidden is None else ~hidden.expand(scores.shape)
    floor = torch.where(visible, scores, torch.finfo(scores.dtype).min)
    top = floor.amax(-1)
    weights = torch.where(visible, (floor - top[..., None]).exp(), 0)
    z = einsum("...qk->...q", weights)
    nobody = ~visible.any(-1)
    context = einsum("...qk,...kv->...qv", weights, values) / (z + nobody)[..., None]
    return context, torch.where(nobody, -torch.inf, top + z.log())


def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    both = torch.stack((logsumexp_a, logsumexp_b))
    shares = both.softmax(dim=0).nan_to_num(0)
    contexts = torch.stack((context_a, context_b))
    return einsum("s...q,s...qv->...qv", shares, contexts), both.logsumexp(dim=0)


def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    columns = torch.arange(Tk).split(tile_size)
    rows = []
    for tokens, q in zip(torch.arange(Tq).split(tile_size), queries.split(tile_size, dim=-2)):
        result = None
        for column, k, v in zip(
            columns, keys.split(tile_size, dim=-2), values.split(tile_size, dim=-2)
        ):
            hidden = column[None] > tokens[:, None] + Tk - Tq if causal else None
            tile = attend_tile(q, k, v, hidden=hidden)
            result = tile if result is None else merge_tiles(*result, *tile)
        rows.append(result[0])
    return torch.cat(rows, -2)
