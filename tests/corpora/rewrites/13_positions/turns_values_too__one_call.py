import torch
from torch import nn


class RotaryAttention(nn.Module):
    """Turns queries, keys and values in one call."""

    def __init__(self, d_in, d_out, context_length, num_heads, base=10000.0):
        super().__init__()
        if d_out % num_heads or d_out // num_heads % 2:
            raise ValueError("heads do not fit")
        self.heads, self.limit, self.base = num_heads, context_length, base
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, offset=0):
        T = x.shape[1]
        if T > self.limit:
            raise ValueError("too long")
        layers = self.W_query, self.W_key, self.W_value
        qkv = torch.stack([w(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for w in layers])
        angles = rotary_angles(torch.arange(offset, offset + T), qkv.shape[-1], self.base)
        q, k, v = apply_rotary(qkv, *angles)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        scores = scores + torch.full((T, T), -torch.inf).triu(1)
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
