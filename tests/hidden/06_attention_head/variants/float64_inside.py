"""Computes in double precision, returns single precision, and writes softmax out."""

import torch
from torch import nn


def scaled_scores(queries, keys):
    scores = queries.double() @ keys.double().transpose(1, 2)
    return (scores / scores.new_tensor(keys.shape[-1]).sqrt()).to(queries.dtype)


def causal_pattern(scores):
    wide = scores.double()
    wide = wide.masked_fill(torch.ones_like(wide).triu(1).bool(), torch.finfo(wide.dtype).min)
    powers = torch.exp(wide - wide.max(dim=-1, keepdim=True).values)
    return (powers / powers.sum(dim=-1, keepdim=True)).to(scores.dtype)


class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.block_size = block_size
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        if x.shape[-2] > self.block_size:
            raise ValueError(f"at most {self.block_size} tokens")
        q, k, v = (layer(x).double() for layer in (self.query, self.key, self.value))
        scores = q @ k.transpose(-1, -2) / k.shape[-1] ** 0.5
        future = torch.ones_like(scores).triu(1).bool()
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        return (weights @ v).to(x.dtype)
