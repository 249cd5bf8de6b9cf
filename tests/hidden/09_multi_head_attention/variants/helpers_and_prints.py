"""Has a base class for both multi-head modules, helpers, type hints, prints and a demo."""

from __future__ import annotations

import torch
from torch import Tensor, nn

torch.set_printoptions(precision=3)


def project(layers: list[nn.Linear], inputs: list[Tensor]) -> list[Tensor]:
    return [layer(x) for layer, x in zip(layers, inputs)]


def softmax(scores: Tensor) -> Tensor:
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


class Attention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1, verbose: bool = False):
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, d_model, bias=False) for _ in "qkv")
        self.row_dim, self.col_dim, self.weights = row_dim, col_dim, None
        if verbose:
            print("Attention", d_model)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q, k, v = project(
            [self.W_q, self.W_k, self.W_v], [encodings_for_q, encodings_for_k, encodings_for_v]
        )
        sims = q @ k.transpose(self.row_dim, self.col_dim)
        if mask is not None:
            sims = sims.masked_fill(~mask.to(torch.bool), -torch.inf)
        self.weights = softmax(sims / k.size(-1) ** 0.5)
        return self.weights @ v


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (
            nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)
        )
        self.dropout = nn.Dropout(dropout)
        self.scale = d_out**-0.5
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1) > 0)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        if T > self.mask.size(0):
            raise RuntimeError("sequence too long")
        q, k, v = project([self.W_query, self.W_key, self.W_value], [x, x, x])
        sims = (q * self.scale) @ k.transpose(1, 2)
        print("sims", tuple(sims.shape))
        self.calls += 1
        return self.dropout(softmax(sims.masked_fill(self.mask[:T, :T], -torch.inf))) @ v


class Heads(nn.Module):
    def __init__(self, kind, num_heads, *arguments):
        super().__init__()
        self.heads = nn.ModuleList([kind(*arguments) for _ in range(num_heads)])

    def forward(self, *given, **named):
        return torch.cat([head(*given, **named) for head in self.heads], dim=-1)


class MultiHeadAttention(Heads):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__(Attention, num_heads, d_model, row_dim, col_dim)


class MultiHeadAttentionWrapper(Heads):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(CausalAttention, num_heads, d_in, d_out, context_length, dropout, qkv_bias)


torch.manual_seed(42)
encodings = torch.tensor([[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]])
print(MultiHeadAttention(num_heads=2)(encodings, encodings, encodings))
