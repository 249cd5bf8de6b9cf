"""Has a base class, helpers, prints and a demo; the class calls both functions."""

import torch
from torch import Tensor, nn

print("stage 10")


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    *front, features = x.shape
    if features % num_heads:
        raise ValueError(f"{features} % {num_heads} != 0")
    x = x.reshape(*front, num_heads, features // num_heads)
    print("split", tuple(x.shape))
    return x.transpose(-2, -3)


def merge_heads(x: Tensor) -> Tensor:
    x = x.transpose(-2, -3)
    return x.reshape(*x.shape[:-2], -1)


def softmax(scores):
    e = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return e / e.sum(dim=-1, keepdim=True)


def hide_future(scores, mask):
    T = scores.shape[-1]
    assert T <= len(mask)
    return scores.masked_fill(mask[:T, :T].bool(), -torch.inf)


class _Projections(nn.Module):
    def __init__(self, d_in, d_out, bias):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=bias))

    def project(self, x):
        return self.W_query(x), self.W_key(x), self.W_value(x)


class MultiHeadAttention(_Projections):
    def __init__(
        self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False, verbose=False
    ):
        super().__init__(d_in, d_out, qkv_bias)
        self.num_heads = num_heads
        self.verbose = verbose
        split_heads(torch.zeros(1, 1, d_out), num_heads)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.last_weights = None
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1))
        self.register_buffer("positions", torch.arange(context_length))

    def forward(self, x, need_weights=False):
        q, k, v = (split_heads(part, self.num_heads) for part in self.project(x))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        self.last_weights = softmax(hide_future(scores, self.mask))
        out = self.out_proj(merge_heads(self.dropout(self.last_weights) @ v))
        return (out, self.last_weights) if need_weights else out


demo = MultiHeadAttention(3, 4, 6, 0.1, num_heads=2)
print(demo(torch.rand(2, 5, 3)).shape)
