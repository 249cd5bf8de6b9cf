"""Processes one item of the batch after the other."""

import torch
from torch import Tensor, nn


def scaled_scores(queries: Tensor, keys: Tensor) -> Tensor:
    pairs = zip(queries, keys)
    return torch.stack([q.matmul(k.t()) / q.size(-1) ** 0.5 for q, k in pairs])


def causal_pattern(scores: Tensor) -> Tensor:
    result = torch.empty_like(scores)
    visible = torch.tril(torch.ones(scores.size(1), scores.size(2))).bool()
    for item in range(len(scores)):
        result[item] = scores[item].masked_fill(~visible, float("-inf")).softmax(dim=1)
    return result


class AttentionHead(nn.Module):
    def __init__(self, embedding_dim: int, head_size: int, block_size: int):
        super().__init__()
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)).bool())

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([self.attend(item) for item in x])

    def attend(self, tokens: Tensor) -> Tensor:
        n = len(tokens)
        assert n <= len(self.tril)
        scores = self.query(tokens) @ self.key(tokens).T / self.key.weight.shape[0] ** 0.5
        scores = scores.masked_fill(~self.tril[:n, :n], float("-inf"))
        return torch.softmax(scores, dim=1) @ self.value(tokens)
