"""Uses -1e9 instead of minus infinity, permute instead of transpose, and contiguous().view()."""

import torch
from torch import nn


def split_heads(x, num_heads):
    b, t, d = x.size()
    assert not d % num_heads
    return x.reshape(b, t, num_heads, d // num_heads).permute(0, 2, 1, 3).contiguous()


def merge_heads(x):
    b, h, t, d = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(b, t, h * d)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        assert self.head_dim * num_heads == d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(p=dropout)
        tril = torch.tril(torch.ones(context_length, context_length))
        self.register_buffer("mask", tril.view(1, 1, context_length, context_length))

    def forward(self, x):
        b, t, _ = x.size()
        assert t <= self.mask.size(-1)
        shape = (b, t, self.num_heads, self.head_dim)
        q = self.W_query(x).view(shape).permute(0, 2, 1, 3)
        k = self.W_key(x).view(shape).permute(0, 2, 3, 1)
        v = self.W_value(x).view(shape).permute(0, 2, 1, 3)
        att = torch.matmul(q, k) / (self.head_dim**0.5)
        att = att.masked_fill(self.mask[:, :, :t, :t] == 0, -1e9)
        att = self.dropout(torch.softmax(att, dim=3))
        out = torch.matmul(att, v).permute(0, 2, 1, 3).contiguous()
        return self.out_proj(out.view(b, t, -1))
