"""Right names and shapes, but no computation: earns a fifth of the points at most."""

import torch


def online_max_and_sum(scores, tile_size):
    return scores.new_zeros(()), scores.new_ones(())


def attend_tile(queries, keys, values, scale=None, hidden=None):
    return queries.new_zeros(*queries.shape[:-1], values.shape[-1]), queries.new_zeros(queries.shape[:-1])


def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    return torch.zeros_like(context_a), torch.zeros_like(logsumexp_a)


def tiled_attention(queries, keys, values, tile_size, causal=False):
    return queries.new_zeros(*queries.shape[:-1], values.shape[-1])
