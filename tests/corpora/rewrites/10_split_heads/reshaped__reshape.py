import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril())

    def forward(self, x):
        b, n, _ = x.shape
        if n > self.mask.size(0):
            raise ValueError("too long")
        shape = (b, self.num_heads, n, self.head_dim)
        keys = self.W_key(x).reshape(shape)
        queries = self.W_query(x).reshape(shape)
        values = self.W_value(x).reshape(shape)
        attn_scores = torch.matmul(queries, keys.transpose(2, 3))
        attn_scores = attn_scores.masked_fill(self.mask[:n, :n] < 1, -torch.inf)
        attn_weights = torch.softmax(attn_scores / self.head_dim**0.5, dim=-1)
        attn_weights = self.dropout(attn_weights)
        context = torch.matmul(attn_weights, values).permute(0, 2, 1, 3).contiguous()
        return self.out_proj(context.view(b, n, -1))
