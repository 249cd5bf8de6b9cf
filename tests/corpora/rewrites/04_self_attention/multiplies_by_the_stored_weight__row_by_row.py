import math

import torch
from torch import nn


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)

    def forward(self, x):
        q = torch.matmul(x, self.W_query.weight)
        k = torch.matmul(x, self.W_key.weight)
        v = torch.matmul(x, self.W_value.weight)
        out = []
        for row in q:
            w = torch.softmax(k @ row / math.sqrt(self.d_out), 0)
            out.append(w @ v)
        return torch.stack(out)
