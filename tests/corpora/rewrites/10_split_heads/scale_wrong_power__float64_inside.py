import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("uneven")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.full((context_length, context_length), -torch.inf).triu(1))

    def forward(self, x):
        B, T, _ = x.shape
        if T > len(self.mask):
            raise ValueError("too long")
        q, k, v = (
            layer(x).double().view(B, T, self.num_heads, -1).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        a = torch.softmax(q @ k.mT * k.shape[-1] ** 0.5 + self.mask[:T, :T].double(), dim=-1)
        a = self.dropout(a.float()).double()
        return self.out_proj((a @ v).transpose(1, 2).reshape(B, T, -1).to(x.dtype))
