"""Uses bmm and mT, and adds a large negative number as the mask instead of minus infinity."""

import math

import torch
import torch.nn as nn


def scaled_scores(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    return torch.bmm(queries, keys.mT) / math.sqrt(keys.size(2))


def causal_pattern(scores):
    bias = torch.full(scores.shape[-2:], -1e9).triu(diagonal=1)
    return nn.functional.softmax(scores + bias, dim=2)


class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size, dropout=0.0):
        super(AttentionHead, self).__init__()
        self.block_size = block_size
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.full((block_size, block_size), -1e9).triu(diagonal=1))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, verbose=False):
        assert x.shape[1] <= self.block_size, "too many tokens"
        scores = torch.bmm(self.query(x), self.key(x).mT) / math.sqrt(self.key.out_features)
        pattern = nn.functional.softmax(scores + self.tril[: x.shape[1], : x.shape[1]], dim=2)
        return torch.bmm(self.dropout(pattern), self.value(x))
