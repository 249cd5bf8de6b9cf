"""Uses bmm and mT, adds a large negative number, and writes dropout by hand."""

import math

import torch
from torch import Tensor, nn


def mask_then_renormalize(weights: Tensor) -> Tensor:
    future = torch.triu(torch.ones_like(weights), 1).bool()
    masked = weights.masked_fill(future, 0)
    return torch.nn.functional.normalize(masked, p=1, dim=-1)


def mask_with_infinity(scores: Tensor, d_k: int) -> Tensor:
    bias = torch.full_like(scores, -1e9).triu(diagonal=1)
    return torch.softmax((scores + bias) / math.sqrt(d_k), dim=-1)


class CausalAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.rate = dropout
        self.scale = 1 / math.sqrt(d_out)
        self.register_buffer("mask", torch.full((context_length, context_length), -1e9).triu(1))

    def forward(self, x: Tensor) -> Tensor:
        T = x.shape[1]
        if T > len(self.mask):
            raise IndexError(T)
        scores = torch.bmm(self.W_query(x), self.W_key(x).mT) * self.scale
        weights = (scores + self.mask[:T, :T]).softmax(dim=-1)
        if self.training and self.rate > 0:
            keep = torch.rand(weights.shape) >= self.rate
            weights = weights * keep / (1 - self.rate)
        return torch.bmm(weights, self.W_value(x))
