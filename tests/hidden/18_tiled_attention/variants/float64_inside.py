"""A correct solution that computes in float64 and returns the dtype of its inputs."""

import torch

SMALL = -1e300


def online_max_and_sum(scores, tile_size):
    m, z = scores[0].double(), torch.zeros((), dtype=torch.float64)
    start = 0
    while start < scores.numel():
        tile = scores[start : start + tile_size].double()
        old, m = m, torch.max(m, tile.max())
        z = z.mul(torch.exp(old - m)).add(torch.exp(tile - m).sum())
        start += tile_size
    return m.to(scores.dtype), z.to(scores.dtype)


def attend_tile(queries, keys, values, scale=None, hidden=None):
    q, k, v = queries.double(), keys.double(), values.double()
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if hidden is not None:
        scores = torch.where(hidden, SMALL, scores)
    top = scores.max(-1, keepdim=True)[0]
    weights = torch.exp(scores - top) * (scores > SMALL)
    z = weights.sum(-1, keepdim=True)
    context = weights @ v / torch.where(z > 0, z, 1.0)
    lse = torch.where(z > 0, top + torch.log(torch.where(z > 0, z, 1.0)), -torch.inf)
    return context.to(queries.dtype), lse[..., 0].to(queries.dtype)


def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    la, lb = logsumexp_a.double(), logsumexp_b.double()
    lse = torch.logaddexp(la, lb)
    share = torch.exp(la - lse).nan_to_num(0.0).unsqueeze(-1)
    other = torch.exp(lb - lse).nan_to_num(0.0).unsqueeze(-1)
    context = share * context_a.double() + other * context_b.double()
    return context.to(context_a.dtype), lse.to(logsumexp_a.dtype)


def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    q, k, v = queries.double(), keys.double(), values.double()
    rows = torch.arange(Tq).view(-1, 1)
    context = q.new_zeros(q.shape[:-1] + v.shape[-1:])
    lse = torch.full(q.shape[:-1], -torch.inf, dtype=torch.float64)
    for j in range(0, Tk, tile_size):
        part = slice(j, min(j + tile_size, Tk))
        hidden = torch.arange(Tk)[part] > rows + (Tk - Tq) if causal else None
        tile = attend_tile(q, k[..., part, :], v[..., part, :], hidden=hidden)
        context, lse = merge_tiles(context, lse, *tile)
    return context.to(queries.dtype)
