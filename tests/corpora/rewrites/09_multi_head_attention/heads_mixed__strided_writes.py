import torch
import torch.nn as nn


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.d_out, self.num_heads = d_out, num_heads
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        )

    def forward(self, x):
        out = x.new_zeros(x.shape[0], x.shape[1], self.d_out * self.num_heads)
        for h, head in enumerate(self.heads):
            out[:, :, h :: self.num_heads] = head(x)
        return out
