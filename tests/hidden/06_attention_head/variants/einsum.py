"""Computes every product with einsum; the mask is boolean and is not saved."""

import torch
from torch import nn


def scaled_scores(queries, keys):
    return torch.einsum("bqd,bkd->bqk", queries, keys).div(keys.size(-1) ** 0.5)


def causal_pattern(scores):
    position = torch.arange(scores.size(-1))
    hidden = position[None, :] > position[:, None]
    return torch.where(hidden, torch.tensor(float("-inf")), scores).softmax(-1)


class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key, self.query, self.value = (
            nn.Linear(embedding_dim, head_size, bias=False) for _ in range(3)
        )
        hidden = torch.ones(block_size, block_size, dtype=torch.bool).triu(1)
        self.register_buffer("tril", hidden, persistent=False)

    def forward(self, x):
        length = x.size(1)
        if length > len(self.tril):
            raise AssertionError("too long")
        scores = torch.einsum("btc,buc->btu", self.query(x), self.key(x))
        scores = scores / self.key.out_features**0.5
        weights = scores.masked_fill(self.tril[:length, :length], -torch.inf).softmax(dim=2)
        return torch.einsum("btu,buh->bth", weights, self.value(x))
