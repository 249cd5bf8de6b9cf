"""A correct solution as in many blog posts: one loop with m, l and an output that is divided at the end."""

import math

import torch


def online_max_and_sum(scores, tile_size):
    m, l = torch.tensor(float("-inf"), dtype=scores.dtype), torch.zeros((), dtype=scores.dtype)
    n_tiles = math.ceil(scores.shape[0] / tile_size)
    for i in range(n_tiles):
        block = scores[i * tile_size : (i + 1) * tile_size]
        m_new = torch.max(m, block.max())
        l = torch.exp(m - m_new) * l + torch.exp(block - m_new).sum()
        m = m_new
    return m, l


def attend_tile(queries, keys, values, scale=None, hidden=None):
    scale = 1.0 / math.sqrt(queries.size(-1)) if scale is None else scale
    S = torch.matmul(queries, keys.transpose(-1, -2)) * scale
    if hidden is not None:
        S = S.masked_fill(hidden, float("-inf"))
    m = S.max(dim=-1, keepdim=True).values
    m = torch.where(torch.isinf(m), torch.zeros_like(m), m)
    P = torch.exp(S - m)
    l = P.sum(dim=-1, keepdim=True)
    O = torch.matmul(P, values) / l.clamp(min=1e-30)
    return O, (m + torch.log(l)).squeeze(-1)


def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
    lse = torch.logaddexp(logsumexp_a, logsumexp_b)
    safe = torch.where(lse == float("-inf"), torch.zeros_like(lse), lse)
    wa = torch.exp(logsumexp_a - safe)[..., None]
    wb = torch.exp(logsumexp_b - safe)[..., None]
    return wa * context_a + wb * context_b, lse


def tiled_attention(queries, keys, values, tile_size, causal=False):
    Tq, Tk, d = queries.shape[-2], keys.shape[-2], queries.shape[-1]
    out = []
    for i in range(0, Tq, tile_size):
        Qi = queries[..., i : i + tile_size, :] / math.sqrt(d)
        m = torch.full((*Qi.shape[:-1], 1), float("-inf"), dtype=Qi.dtype)
        l = torch.zeros((*Qi.shape[:-1], 1), dtype=Qi.dtype)
        O = torch.zeros((*Qi.shape[:-1], values.shape[-1]), dtype=Qi.dtype)
        for j in range(0, Tk, tile_size):
            Kj, Vj = keys[..., j : j + tile_size, :], values[..., j : j + tile_size, :]
            S = Qi @ Kj.transpose(-1, -2)
            if causal:
                row = torch.arange(i, i + Qi.shape[-2])[:, None] + (Tk - Tq)
                col = torch.arange(j, j + Kj.shape[-2])[None, :]
                S = S.masked_fill(col > row, float("-inf"))
            m_new = torch.maximum(m, S.max(dim=-1, keepdim=True).values)
            alpha = torch.exp(m - m_new)
            P = torch.exp(S - m_new)
            l = alpha * l + P.sum(dim=-1, keepdim=True)
            O = alpha * O + P @ Vj
            m = m_new
        out.append(O / l)
    return torch.cat(out, dim=-2)
