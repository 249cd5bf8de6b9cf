"""Ready-made attention and decoding without a cache, as far as the numbers allow."""

import torch
import torch.nn.functional as F
from torch import nn


def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    keys, values = x_new @ W_key, x_new @ W_value
    if cache is not None:
        keys, values = (torch.cat(pair) for pair in zip(cache, (keys, values)))
    hidden = torch.ones(len(x_new), len(keys)).triu(len(keys) - len(x_new) + 1).bool()
    context = F.scaled_dot_product_attention(
        (x_new @ W_query)[None], keys[None], values[None], attn_mask=~hidden
    )
    return context[0], (keys, values)


def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    ids = [first]
    for _ in range(new_tokens):
        x = embeddings[ids]  # all tokens again
        queries, keys, values = x @ W_query, x @ W_key, x @ W_value
        weights = torch.softmax(queries[-1] @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        ids.append(int((weights @ values @ W_out @ W_vocab).argmax()))
    return ids


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, cache=None):
        queries, keys, values = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        if cache is not None:
            keys, values = (torch.cat(pair, dim=2) for pair in zip(cache, (keys, values)))
        new, all_ = queries.shape[2], keys.shape[2]
        hidden = torch.ones(new, all_).triu(all_ - new + 1).bool()
        context = F.scaled_dot_product_attention(queries, keys, values, attn_mask=~hidden)
        return self.out_proj(context.transpose(1, 2).flatten(2)), (keys, values)
