"""Scales the queries, not the scores; multiplies by the mask as the first GPT did."""

import torch
from torch import nn


def scaled_scores(queries, keys):
    queries = queries * queries.shape[-1] ** -0.5
    return torch.matmul(queries, keys.permute(0, 2, 1))


def causal_pattern(scores):
    keep = torch.tril(torch.ones_like(scores))
    return torch.softmax(scores * keep - 1e10 * (1 - keep), dim=-1)


class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.scale = head_size**-0.5
        self.register_buffer("tril", torch.ones(block_size, block_size).tril().view(1, block_size, block_size))

    def forward(self, x):
        T = x.shape[1]
        if T > self.tril.shape[-1]:
            raise ValueError("T is above block_size")
        q = self.query(x) * self.scale
        scores = torch.matmul(q, self.key(x).permute(0, 2, 1))
        keep = self.tril[:, :T, :T]
        weights = torch.softmax(scores * keep - 1e10 * (1 - keep), dim=-1)
        return torch.matmul(weights, self.value(x))
