import torch
import torch.nn as nn
from torch.nn import functional as F


class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.block_size = block_size
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.tril = nn.Parameter(torch.full((block_size, block_size), -torch.inf).triu(1))

    def forward(self, x):
        T = x.shape[1]
        if T > self.block_size:
            raise ValueError("too long")
        k, q, v = self.key(x), self.query(x), self.value(x)
        wei = torch.bmm(q, k.mT) / k.shape[-1] ** 0.5 + self.tril[:T, :T].detach()
        return torch.bmm(F.softmax(wei, -1), v)
