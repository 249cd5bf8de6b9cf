"""The document's own style: key, query, value, tril == 0, softmax."""

import torch
from torch import nn
from torch.nn import functional as F


def scaled_scores(queries, keys):
    head_size = queries.shape[-1]
    return queries @ keys.transpose(-2, -1) * (head_size**-0.5)


def causal_pattern(scores):
    T = scores.shape[1]
    tril = torch.tril(torch.ones(T, T))
    weights = scores.masked_fill(tril == 0, float("-inf"))
    weights = F.softmax(weights, dim=-1)
    return weights


class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.head_size = head_size
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        B, T, C = x.shape
        if T > len(self.tril):  # the document's own code fails later, with a shape error
            raise ValueError("too many tokens")
        K = self.key(x)
        Q = self.query(x)
        weights = Q @ K.transpose(-2, -1) * (self.head_size**-0.5)
        weights = weights.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        weights = F.softmax(weights, dim=-1)
        V = self.value(x)
        return weights @ V
