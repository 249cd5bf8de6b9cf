"""A correct solution in another idiom: one product for the three projections, additive masks."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def lower_right_mask(num_queries, num_keys):
    return 1 - torch.triu(
        torch.ones(num_queries, num_keys, dtype=torch.long), diagonal=num_keys - num_queries + 1
    )


def attention(q, k, v):
    bias = torch.zeros(q.size(-2), k.size(-2), dtype=q.dtype)
    bias[lower_right_mask(q.size(-2), k.size(-2)) == 0] = float("-inf")
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1))) + bias
    return F.softmax(att, dim=-1) @ v


def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    d = W_query.size(1)
    q, k, v = (x_new @ torch.cat((W_query, W_key, W_value), dim=1)).split(d, dim=1)
    past_k, past_v = cache if cache else (k[:0], v[:0])
    k, v = torch.cat((past_k, k), dim=0), torch.cat((past_v, v), dim=0)
    return attention(q, k, v), (k, v)


def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    head = W_out @ W_vocab
    ids = torch.tensor([first])
    past = None
    for _ in range(new_tokens):
        y, past = attend_with_cache(embeddings[ids[-1:]], W_query, W_key, W_value, past)
        nxt = torch.argmax(y @ head, dim=-1)
        ids = torch.cat((ids, nxt))
    return ids.tolist()


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("uneven heads")
        self.n_head = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, cache=None):
        B, T, _ = x.size()
        layers = (self.W_query, self.W_key, self.W_value)
        weight = torch.cat([layer.weight for layer in layers])
        bias = None if layers[0].bias is None else torch.cat([layer.bias for layer in layers])
        qkv = F.linear(x, weight, bias).view(B, T, 3, self.n_head, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        if cache is not None:
            k = torch.cat((cache[0], k), dim=2)
            v = torch.cat((cache[1], v), dim=2)
        y = attention(q, k, v)
        y = y.transpose(1, 2).contiguous().view(B, T, -1)
        return self.out_proj(y), (k, v)
