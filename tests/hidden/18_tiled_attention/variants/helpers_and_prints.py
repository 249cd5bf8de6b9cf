"""A correct solution with a class for the running numbers, helpers, prints and padded tiles."""

import torch


class Running:
    """Running maximum, sum and unnormalized output of some queries."""

    def __init__(self, rows, width, like):
        self.maximum = torch.full((*rows, 1), -1e30, dtype=like.dtype)
        self.total = torch.zeros((*rows, 1), dtype=like.dtype)
        self.output = torch.zeros((*rows, width), dtype=like.dtype)

    def see(self, scores, values):
        maximum = torch.maximum(self.maximum, scores.amax(-1, keepdim=True))
        correction = torch.exp(self.maximum - maximum)
        weights = torch.exp(scores - maximum)
        self.total = correction * self.total + weights.sum(-1, keepdim=True)
        self.output = correction * self.output + weights @ values
        self.maximum = maximum

    def context(self):
        return self.output / torch.where(self.total == 0, 1, self.total)

    def log_total(self):
        return (self.maximum + torch.log(self.total))[..., 0]


def online_max_and_sum(scores: torch.Tensor, tile_size: int):
    running = Running((), 1, scores)
    for start in range(0, scores.shape[0], tile_size):
        tile = scores[start : start + tile_size]
        running.see(tile, torch.zeros(len(tile), 1, dtype=scores.dtype))
    print("maximum", running.maximum)
    return running.maximum[0], running.total[0]


def scaled_scores(queries, keys, scale, hidden):
    scale = keys.shape[-1] ** -0.5 if scale is None else scale
    scores = scale * (queries @ keys.transpose(-1, -2))
    return scores if hidden is None else scores.masked_fill(hidden, -torch.inf)


def attend_tile(queries, keys, values, scale=None, hidden=None):
    running = Running(queries.shape[:-1], values.shape[-1], queries)
    running.see(scaled_scores(queries, keys, scale, hidden), values)
    print("tile of", keys.shape[-2], "keys")
    return running.context(), running.log_total()


def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    order = logsumexp_a >= logsumexp_b
    high = torch.where(order, logsumexp_a, logsumexp_b)
    low = torch.where(order, logsumexp_b, logsumexp_a)
    gap = torch.where(high == low, torch.zeros_like(high), low - high)  # also if both are -inf
    large = torch.where(order[..., None], context_a, context_b)
    small = torch.where(order[..., None], context_b, context_a)
    ratio = torch.exp(gap)[..., None]
    return (large + ratio * small) / (1 + ratio), high + torch.log1p(torch.exp(gap))


def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk = queries.shape[-2], keys.shape[-2]
    extra = -Tk % tile_size
    padded_keys = torch.nn.functional.pad(keys, (0, 0, 0, extra))
    padded_values = torch.nn.functional.pad(values, (0, 0, 0, extra))
    rows = []
    for start in range(0, Tq, tile_size):
        some = queries[..., start : start + tile_size, :]
        running = Running(some.shape[:-1], values.shape[-1], queries)
        for first in range(0, Tk, tile_size):
            part = slice(first, first + tile_size)
            number = torch.arange(first, first + tile_size)
            hidden = (number >= Tk)[None].repeat(some.shape[-2], 1)
            if causal:
                own = torch.arange(start, start + some.shape[-2]) + Tk - Tq
                hidden = hidden | (number[None] > own[:, None])
            scores = scaled_scores(some, padded_keys[..., part, :], None, hidden)
            running.see(scores, padded_values[..., part, :])
        rows.append(running.context())
    return torch.cat(rows, dim=-2)
