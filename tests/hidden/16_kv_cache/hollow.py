"""Right names, shapes and errors, but no computation: earns a fifth of the points at most."""

import torch
from torch import nn


def lower_right_mask(num_queries, num_keys):
    return torch.zeros(num_queries, num_keys)


def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    past = 0 if cache is None else cache[0].shape[0]
    d = W_key.shape[1]
    kept = torch.zeros(past + x_new.shape[0], d, dtype=x_new.dtype)
    return torch.zeros(x_new.shape[0], d, dtype=x_new.dtype), (kept, kept)


def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    return [first] * (new_tokens + 1)


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.d_out, self.num_heads = d_out, num_heads

    def forward(self, x, cache=None):
        B, T_new, _ = x.shape
        past = 0 if cache is None else cache[0].shape[2]
        kept = torch.zeros(B, self.num_heads, past + T_new, self.d_out // self.num_heads)
        return torch.zeros(B, T_new, self.d_out), (kept, kept)
