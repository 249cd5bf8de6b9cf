"""The head uses the two functions and helpers; the file also has a demonstration."""

import torch
from torch import nn

torch.manual_seed(7)


def scaled_dot_product_attention(q, k, v):
    return causal_pattern(scaled_scores(q, k)) @ v


def root(n):
    return n**0.5


def scaled_scores(queries, keys):
    return (queries / root(queries.shape[-1])) @ keys.swapaxes(1, 2)


def causal_pattern(scores):
    copy = scores.clone()
    rows, columns = torch.triu_indices(*scores.shape[-2:], offset=1)
    copy[..., rows, columns] = -torch.inf
    return copy.softmax(dim=-1)


class Base(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size


class AttentionHead(Base):
    def __init__(self, embedding_dim, head_size, block_size, name="head"):
        super().__init__(block_size)
        self.name = name
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.tensor(0))
        self.register_buffer("positions", torch.arange(block_size))

    def forward(self, x):
        self.check(x)
        return scaled_dot_product_attention(self.query(x), self.key(x), self.value(x))

    def check(self, x):
        if x.shape[1] > self.size:
            raise ValueError("too long")


x = torch.randn(4, 8, 32)
print(AttentionHead(32, 16, 8)(x).shape)
