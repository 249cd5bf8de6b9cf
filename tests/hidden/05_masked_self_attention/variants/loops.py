"""Processes one item and one query at a time, and only the visible keys."""

import torch
from torch import nn


def attend(q, k, v, mask):
    rows = []
    for i, query in enumerate(q):
        seen = [j for j in range(len(k)) if mask[i, j]]
        scores = torch.stack([query.dot(k[j]) for j in seen]) / len(query) ** 0.5
        weights = scores.softmax(dim=0)
        rows.append(sum(weight * v[j] for weight, j in zip(weights, seen)))
    return torch.stack(rows)


class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.batched = row_dim == 1

    def forward(self, token_encodings, mask):
        if self.batched:
            return torch.stack([self.single(item, mask) for item in token_encodings])
        return self.single(token_encodings, mask)

    def single(self, x, mask):
        return attend(self.W_q(x), self.W_k(x), self.W_v(x), mask)


class SelfAttention(MaskedSelfAttention):
    def forward(self, token_encodings):
        length = token_encodings.shape[-2]
        return super().forward(token_encodings, torch.ones(length, length))


def causal_mask(size):
    mask = torch.zeros(size, size, dtype=torch.int)
    for i in range(size):
        mask[i, : i + 1] = 1
    return mask
