"""A correct solution in the style of ring attention: a sigmoid mixes the two sides, with chunk."""

import math

import torch


def online_max_and_sum(scores, tile_size):
    m, z = None, None
    for tile in torch.split(scores, tile_size):
        tile_m = torch.amax(tile, dim=0)
        tile_z = torch.exp(tile - tile_m).sum(dim=0)
        if m is None:
            m, z = tile_m, tile_z
            continue
        new = torch.maximum(m, tile_m)
        z = z * torch.exp(m - new) + tile_z * torch.exp(tile_m - new)
        m = new
    return m, z


def attend_tile(queries, keys, values, scale=None, hidden=None):
    if scale is None:
        scale = 1 / math.sqrt(queries.shape[-1])
    logits = (queries * scale) @ keys.mT
    if hidden is not None:
        logits = torch.where(hidden, -torch.inf, logits)
    shift = logits.amax(-1, keepdim=True).clamp(min=torch.finfo(logits.dtype).min)
    numerator = torch.exp(logits - shift)
    denominator = numerator.sum(-1, keepdim=True)
    context = torch.nan_to_num(numerator / denominator) @ values
    return context, (shift + denominator.log()).squeeze(-1)


def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    empty = torch.isneginf(logsumexp_a) & torch.isneginf(logsumexp_b)
    gap = torch.where(empty, 0.0, logsumexp_b) - torch.where(empty, 0.0, logsumexp_a)
    share = torch.sigmoid(gap)[..., None]
    context = context_a - share * (context_a - context_b)
    return context, torch.logaddexp(logsumexp_a, logsumexp_b)


def tiled_attention(queries, keys, values, tile_size, causal=False):
    shift = keys.size(-2) - queries.size(-2)
    blocks = []
    for i, q in enumerate(torch.split(queries, tile_size, dim=-2)):
        rows = i * tile_size + torch.arange(q.size(-2)) + shift
        pieces = zip(torch.split(keys, tile_size, -2), torch.split(values, tile_size, -2))
        out, lse = None, None
        for j, (k, v) in enumerate(pieces):
            cols = j * tile_size + torch.arange(k.size(-2))
            if causal and bool(cols[0] > rows[-1]):
                continue
            mask = rows.unsqueeze(1) < cols.unsqueeze(0) if causal else None
            tile_out, tile_lse = attend_tile(q, k, v, hidden=mask)
            if out is None:
                out, lse = tile_out, tile_lse
            else:
                out, lse = merge_tiles(out, lse, tile_out, tile_lse)
        blocks.append(out)
    return torch.concat(blocks, dim=-2)
