import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("uneven")
        self.num_heads, self.p = num_heads, dropout
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.mask = nn.Parameter(torch.ones(context_length, context_length).tril())

    def forward(self, x):
        T = x.size(1)
        if T > len(self.mask):
            raise ValueError("too long")
        q, k, v = (
            torch.stack(layer(x).chunk(self.num_heads, dim=-1), dim=1)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        a = torch.matmul(q, k.mT) / math.sqrt(q.size(-1))
        a = F.softmax(torch.where(self.mask[:T, :T] == 0, -torch.inf, a), dim=-1)
        a = F.dropout(a, self.p, self.training)
        return self.out_proj(torch.matmul(a, v).transpose(1, 2).flatten(2))
