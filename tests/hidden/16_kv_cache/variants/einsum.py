"""A correct solution in another idiom: einsum everywhere, masks from positions, as booleans."""

import torch
from torch import einsum, nn


def lower_right_mask(num_queries, num_keys):
    i = torch.arange(num_keys - num_queries, num_keys)
    j = torch.arange(num_keys)
    return i[:, None] >= j[None, :]


def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    q = einsum("ti,id->td", x_new, W_query)
    k = einsum("ti,id->td", x_new, W_key)
    v = einsum("ti,id->td", x_new, W_value)
    if cache is not None:
        k, v = torch.vstack([cache[0], k]), torch.vstack([cache[1], v])
    scores = einsum("qd,kd->qk", q, k) * W_key.size(1) ** -0.5
    scores = torch.where(lower_right_mask(q.size(0), k.size(0)), scores, -torch.inf)
    return einsum("qk,kd->qd", scores.softmax(-1), v), (k, v)


def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    cache, ids = None, [first]
    while len(ids) <= new_tokens:
        c, cache = attend_with_cache(
            embeddings[ids[-1]].unsqueeze(0), W_query, W_key, W_value, cache
        )
        ids.append(int(einsum("td,de,ev->v", c, W_out, W_vocab).argmax()))
    return ids


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out must be divisible by num_heads")
        self.H = num_heads
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, cache=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.H, -1)) for layer in (self.W_query, self.W_key, self.W_value)
        )
        k, v = k.permute(0, 2, 1, 3), v.permute(0, 2, 1, 3)
        if cache is not None:
            k = torch.cat([cache[0], k], -2)
            v = torch.cat([cache[1], v], -2)
        scores = einsum("bqhd,bhkd->bhqk", q, k) / q.size(-1) ** 0.5
        scores = scores.masked_fill(~lower_right_mask(q.size(1), k.size(2)), -torch.inf)
        context = einsum("bhqk,bhkd->bqhd", scores.softmax(-1), v)
        return self.out_proj(context.flatten(2)), (k, v)
