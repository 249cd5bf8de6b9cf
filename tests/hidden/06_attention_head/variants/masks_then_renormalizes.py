"""Masks the weights after softmax and divides each row by its remaining sum."""

import torch
from torch import nn


def scaled_scores(queries, keys):
    return (queries[:, :, None, :] * keys[:, None, :, :]).sum(-1) / queries.shape[-1] ** 0.5


def causal_pattern(scores):
    weights = torch.softmax(scores, dim=-1).tril()
    return weights / weights.sum(-1, True)


class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        for name in ("key", "query", "value"):
            setattr(self, name, nn.Linear(embedding_dim, head_size, bias=False))
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size, dtype=torch.int64)))

    def forward(self, x):
        T = x.shape[1]
        if T > self.tril.shape[0]:
            raise ValueError("T is above block_size")
        weights = torch.softmax(scaled_scores(self.query(x), self.key(x)), dim=-1)
        weights = weights * self.tril[:T, :T]
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return weights @ self.value(x)
