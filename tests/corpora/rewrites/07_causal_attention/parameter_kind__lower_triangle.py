import torch
import torch.nn as nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.tril = torch.ones(context_length, context_length).tril()

    def forward(self, x):
        T = x.shape[1]
        if T > self.tril.shape[0]:
            raise ValueError("too long")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        w = torch.bmm(q, k.transpose(1, 2)) * k.shape[-1] ** -0.5
        w = torch.where(self.tril[:T, :T] > 0, w, -torch.inf).softmax(dim=-1)
        return torch.bmm(self.dropout(w), v)
