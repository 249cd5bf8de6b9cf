import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim = row_dim
        self.col_dim = col_dim

    def forward(self, token_encodings):
        q = self.W_q(token_encodings)
        k = self.W_k(token_encodings)
        v = self.W_v(token_encodings)
        sims = torch.matmul(q, k.transpose(self.row_dim, self.col_dim))
        scaled_sims = sims / k.size(self.col_dim) ** 0.5
        return torch.matmul(F.softmax(scaled_sims, dim=self.col_dim), v)


def causal_mask(size):
    return torch.tril(torch.ones(size, size))


class MaskedSelfAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim = row_dim
        self.col_dim = col_dim

    def forward(self, token_encodings, mask):
        q = self.W_q(token_encodings)
        k = self.W_k(token_encodings)
        v = self.W_v(token_encodings)
        sims = torch.matmul(q, k.transpose(self.row_dim, self.col_dim))
        scaled_sims = sims / k.size(self.col_dim) ** 0.5
        scaled_sims = scaled_sims.masked_fill(mask == 1, float("-inf"))
        return torch.matmul(F.softmax(scaled_sims, dim=self.col_dim), v)
