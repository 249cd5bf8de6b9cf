"""Fills an existing tensor in plain loops over the heads."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim
        self.d_model = d_model

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        q = self.W_q(encodings_for_q)
        k = self.W_k(encodings_for_k)
        v = self.W_v(encodings_for_v)
        scores = torch.matmul(q, torch.swapaxes(k, self.row_dim, self.col_dim))
        if mask is not None:
            scores = scores.masked_fill(mask < 0.5, -torch.inf)
        weights = nn.functional.softmax(scores * self.d_model**-0.5, dim=self.col_dim)
        return torch.matmul(weights, v)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.context_length, self.d_out, self.p = context_length, d_out, dropout
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", torch.zeros(context_length, context_length))
        for i in range(context_length):
            self.mask[i, : i + 1] = 1

    def forward(self, x):
        T = x.size(1)
        if T > self.context_length:
            raise ValueError("too many tokens")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.bmm(q, k.permute(0, 2, 1)) / self.d_out**0.5
        scores[:, self.mask[:T, :T] == 0] = -torch.inf
        weights = torch.softmax(scores, dim=2)
        if self.training:
            keep = torch.rand(weights.shape) >= self.p
            weights = weights * keep / (1 - self.p)
        return torch.bmm(weights, v)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=2, row_dim=0, col_dim=1, num_heads=1):
        super().__init__()
        heads = []
        for _ in range(num_heads):
            heads.append(Attention(d_model, row_dim, col_dim))
        self.heads = nn.ModuleList(heads)

    def forward(self, encodings_for_q, encodings_for_k, encodings_for_v, mask=None):
        d = encodings_for_q.shape[-1]
        out = encodings_for_q.new_empty(*encodings_for_q.shape[:-1], d * len(self.heads))
        for h, head in enumerate(self.heads):
            found = head(encodings_for_q, encodings_for_k, encodings_for_v, mask)
            out[..., h * d : (h + 1) * d] = found
        return out


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        heads = []
        for _ in range(num_heads):
            heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))
        self.heads = nn.ModuleList(heads)

    def forward(self, x):
        out = self.heads[0](x)
        for head in self.heads[1:]:
            out = torch.cat((out, head(x)), dim=2)
        return out
