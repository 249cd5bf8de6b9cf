"""A correct solution with loops where they are allowed: over scores, items, heads and masked queries."""

import math

import torch


def online_max_and_sum(scores, tile_size):
    biggest, total = -math.inf, 0.0
    for start in range(0, len(scores), tile_size):
        for score in scores[start : start + tile_size].tolist():
            if score > biggest:
                total *= math.exp(biggest - score)
                biggest = score
            total += math.exp(score - biggest)
    return torch.tensor(biggest, dtype=scores.dtype), torch.tensor(total, dtype=scores.dtype)


def attend_tile(queries, keys, values, scale=None, hidden=None):
    if queries.dim() > 2:
        if hidden is not None:
            hidden = hidden.expand(*queries.shape[:-1], keys.shape[-2])
        items = [
            attend_tile(
                queries[i], keys[i], values[i], scale, None if hidden is None else hidden[i]
            )
            for i in range(len(queries))
        ]
        return torch.stack([c for c, _ in items]), torch.stack([l for _, l in items])
    if scale is None:
        scale = 1 / math.sqrt(queries.shape[1])
    if hidden is None:
        scores = queries @ keys.T * scale
        top, _ = scores.max(dim=1, keepdim=True)
        weights = torch.exp(scores - top)
        z = weights.sum(dim=1, keepdim=True)
        return weights @ values / z, (top + z.log())[:, 0]
    hidden = hidden.expand(len(queries), len(keys))
    contexts, numbers = [], []
    for i, query in enumerate(queries):
        seen = (~hidden[i]).nonzero()[:, 0].tolist()
        if not seen:
            contexts.append(torch.zeros_like(values[0]))
            numbers.append(torch.tensor(-math.inf, dtype=queries.dtype))
            continue
        scores = keys[seen] @ query * scale
        top = scores.max()
        weights = torch.exp(scores - top)
        contexts.append(weights @ values[seen] / weights.sum())
        numbers.append(top + weights.sum().log())
    return torch.stack(contexts), torch.stack(numbers)


def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    larger = torch.max(logsumexp_a, logsumexp_b)
    if torch.isinf(larger).all():
        return context_a, logsumexp_a
    larger = torch.where(torch.isinf(larger), 0.0, larger)
    a, b = torch.exp(logsumexp_a - larger), torch.exp(logsumexp_b - larger)
    z = a + b
    divisor = torch.where(z == 0, torch.ones_like(z), z)
    context = (a[..., None] * context_a + b[..., None] * context_b) / divisor[..., None]
    return context, larger + torch.log(z)


def tiled_attention(queries, keys, values, tile_size, causal=False):
    if queries.dim() > 2:
        items = zip(queries, keys, values)
        return torch.stack([tiled_attention(q, k, v, tile_size, causal) for q, k, v in items])
    Tq, Tk = len(queries), len(keys)
    rows = []
    for i in range(0, Tq, tile_size):
        some = queries[i : i + tile_size]
        context = queries.new_zeros(len(some), values.shape[1])
        number = queries.new_full((len(some),), -math.inf)
        for j in range(0, Tk, tile_size):
            if causal and j > i + len(some) - 1 + Tk - Tq:
                continue
            part = slice(j, min(j + tile_size, Tk))
            hidden = None
            if causal and part.stop - 1 > i + Tk - Tq:
                hidden = [[k > q + Tk - Tq for k in range(j, part.stop)] for q in range(i, i + len(some))]
                hidden = torch.tensor(hidden)
            tile = attend_tile(some, keys[part], values[part], hidden=hidden)
            context, number = merge_tiles(context, number, *tile)
        rows.append(context)
    return torch.cat(rows)
