"""Computes partly in float64, and fills hidden scores with the smallest float32 before scaling."""

import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim = row_dim
        self.col_dim = col_dim

    def forward(self, token_encodings):
        q, k, v = self.W_q(token_encodings), self.W_k(token_encodings), self.W_v(token_encodings)
        q, k, v = q.double(), k.double(), v.double()
        scores = torch.matmul(q, k.transpose(self.row_dim, self.col_dim))
        return (torch.softmax(scores / math.sqrt(k.size(-1)), -1) @ v).type_as(token_encodings)


def causal_mask(size):
    return torch.ones(size, size, dtype=torch.uint8).tril()


class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim = row_dim
        self.col_dim = col_dim

    def forward(self, token_encodings, mask):
        q, k, v = self.W_q(token_encodings), self.W_k(token_encodings), self.W_v(token_encodings)
        scores = torch.matmul(q, k.transpose(self.row_dim, self.col_dim))
        scores = scores.masked_fill(~mask.bool(), torch.finfo(scores.dtype).min)
        return torch.softmax(scores / math.sqrt(k.size(-1)), -1) @ v
