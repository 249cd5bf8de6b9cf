"""A correct solution as the walkthrough and the book write it: every piece from scratch."""

import torch
import torch.nn as nn


def lower_right_mask(num_queries, num_keys):
    return torch.tril(torch.ones(num_queries, num_keys), diagonal=num_keys - num_queries)


def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    if cache is None:
        cache = (
            torch.empty(0, W_key.shape[1], dtype=x_new.dtype),
            torch.empty(0, W_value.shape[1], dtype=x_new.dtype),
        )
    K_cache, V_cache = cache
    Q = x_new @ W_query
    K_cache = torch.cat([K_cache, x_new @ W_key], dim=0)
    V_cache = torch.cat([V_cache, x_new @ W_value], dim=0)
    S = Q @ K_cache.T / torch.sqrt(torch.tensor(K_cache.shape[1], dtype=x_new.dtype))
    S[lower_right_mask(Q.shape[0], K_cache.shape[0]) == 0] = float("-inf")
    A = torch.softmax(S, dim=1)
    return A @ V_cache, (K_cache, V_cache)


def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    K_cache = V_cache = None
    tokens = [first]
    for _ in range(new_tokens):
        x = embeddings[tokens[-1]].reshape(1, -1)
        k, v = x @ W_key, x @ W_value
        K_cache = k if K_cache is None else torch.cat((K_cache, k))
        V_cache = v if V_cache is None else torch.cat((V_cache, v))
        scores = (x @ W_query) @ K_cache.T / K_cache.shape[-1] ** 0.5
        context = torch.softmax(scores, dim=-1) @ V_cache
        tokens.append(torch.argmax(context @ W_out @ W_vocab).item())
    return tokens


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")

        self.d_out = d_out
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads

        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, cache=None):
        b, num_tokens, d_in = x.shape

        keys_new = self.W_key(x).view(b, num_tokens, self.num_heads, self.head_dim)
        values_new = self.W_value(x).view(b, num_tokens, self.num_heads, self.head_dim)
        queries = self.W_query(x).view(b, num_tokens, self.num_heads, self.head_dim)

        keys_new = keys_new.transpose(1, 2)
        values_new = values_new.transpose(1, 2)
        queries = queries.transpose(1, 2)

        if cache is None:
            keys, values = keys_new, values_new
        else:
            keys = torch.cat([cache[0], keys_new], dim=2)
            values = torch.cat([cache[1], values_new], dim=2)

        attn_scores = queries @ keys.transpose(2, 3)
        mask_bool = lower_right_mask(num_tokens, keys.shape[2]) == 0
        attn_scores.masked_fill_(mask_bool, -torch.inf)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)

        context_vec = (attn_weights @ values).transpose(1, 2)
        context_vec = context_vec.contiguous().view(b, num_tokens, self.d_out)
        return self.out_proj(context_vec), (keys, values)
