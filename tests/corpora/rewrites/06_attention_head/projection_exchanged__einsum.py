import torch
import torch.nn as nn
from torch.nn import functional as F


class AttentionHead(nn.Module):
    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.head_size = head_size
        self.block_size = block_size
        self.key = nn.Linear(embedding_dim, head_size, bias=False)
        self.query = nn.Linear(embedding_dim, head_size, bias=False)
        self.value = nn.Linear(embedding_dim, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)).bool())

    def forward(self, x):
        B, T, C = x.shape
        if T > self.block_size:
            raise ValueError("too long")
        wei = torch.einsum("bih,bjh->bij", self.key(x), self.query(x)) * self.head_size**-0.5
        wei = torch.where(self.tril[:T, :T], wei, -torch.inf)
        return torch.einsum("bij,bjh->bih", F.softmax(wei, -1), self.value(x))
