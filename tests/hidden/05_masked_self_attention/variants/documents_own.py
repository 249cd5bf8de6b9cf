"""The document's own style: axes by number, the root as a tensor, masked_fill with -inf."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(in_features=d_model, out_features=d_model, bias=False)
        self.W_k = nn.Linear(in_features=d_model, out_features=d_model, bias=False)
        self.W_v = nn.Linear(in_features=d_model, out_features=d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def forward(self, token_encodings):
        q, k, v = (layer(token_encodings) for layer in (self.W_q, self.W_k, self.W_v))
        sims = torch.matmul(q, k.transpose(dim0=self.row_dim, dim1=self.col_dim))
        sims = sims / torch.tensor(k.size(self.col_dim) ** 0.5)
        percents = F.softmax(sims, dim=self.col_dim)
        return torch.matmul(percents, v)


def causal_mask(size):
    return torch.tril(torch.ones(size, size), diagonal=0)


class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(in_features=d_model, out_features=d_model, bias=False)
        self.W_k = nn.Linear(in_features=d_model, out_features=d_model, bias=False)
        self.W_v = nn.Linear(in_features=d_model, out_features=d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def forward(self, token_encodings, mask):
        q, k, v = (layer(token_encodings) for layer in (self.W_q, self.W_k, self.W_v))
        sims = torch.matmul(q, k.transpose(dim0=self.row_dim, dim1=self.col_dim))
        sims = sims / torch.tensor(k.size(self.col_dim) ** 0.5)
        sims = sims.masked_fill(mask == 0, float("-inf"))
        percents = F.softmax(sims, dim=self.col_dim)
        return torch.matmul(percents, v)
