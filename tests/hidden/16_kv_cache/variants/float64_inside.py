"""A correct solution that computes in float64, masks after softmax and returns the input dtype."""

import torch
from torch import nn


def lower_right_mask(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.float64).tril(num_keys - num_queries)


def mix(q, k, v):
    scores = q.double() @ k.double().transpose(-2, -1) / k.shape[-1] ** 0.5
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    e = e * lower_right_mask(q.shape[-2], k.shape[-2])
    return e / e.sum(-1, keepdim=True) @ v.double()


def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
    q, k, v = (x_new.double() @ W.double() for W in (W_query, W_key, W_value))
    if cache is not None:
        k = torch.cat((cache[0].double(), k))
        v = torch.cat((cache[1].double(), v))
    out = mix(q, k, v).to(x_new.dtype)
    return out, (k.to(x_new.dtype), v.to(x_new.dtype))


def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
    matrices = [W.double() for W in (W_query, W_key, W_value)]
    ids, cache = [first], None
    for _ in range(new_tokens):
        x = embeddings[ids[-1]][None].double()
        context, cache = attend_with_cache(x, *matrices, cache)
        logits = context.squeeze(0) @ W_out.double() @ W_vocab.double()
        ids += [logits.argmax(dim=-1).item()]
    return ids


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def heads(self, layer, x):
        return torch.stack(layer(x).chunk(self.num_heads, dim=-1), dim=1)

    def forward(self, x, cache=None):
        q, k, v = (self.heads(layer, x) for layer in (self.W_query, self.W_key, self.W_value))
        if cache is not None:
            k, v = (torch.cat(pair, dim=-2) for pair in zip(cache, (k, v)))
        context = mix(q, k, v).to(x.dtype)
        return self.out_proj(torch.cat(context.unbind(dim=1), dim=-1)), (k, v)
