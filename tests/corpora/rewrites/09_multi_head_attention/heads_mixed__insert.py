import torch
import torch.nn as nn


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        args = (d_in, d_out, context_length, dropout)
        self.heads = nn.ModuleList([CausalAttention(*args, qkv_bias=qkv_bias) for _ in range(num_heads)])

    def forward(self, x):
        found = []
        for head in self.heads:
            found.insert(0, head(x))
        return torch.concat(found, dim=2)
