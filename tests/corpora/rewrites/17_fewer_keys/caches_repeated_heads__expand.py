import torch
from torch import nn


def rotate(x, positions, base):
    return apply_rotary(x, *rotary_angles(positions, x.shape[-1], base))


class DecoderAttention(nn.Module):
    """Caches what it has expanded to all heads."""

    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads or d_model // num_heads % 2:
            raise ValueError("heads do not fit")
        self.H, self.G, self.window, self.base = num_heads, num_kv_heads, window, base
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model // num_heads * num_kv_heads, bias=False)
        self.W_value = nn.Linear(d_model, d_model // num_heads * num_kv_heads, bias=False)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        B, T, D = x.shape
        d, n = D // self.H, cache[2] if cache else 0
        places = torch.arange(n, n + T)
        q = rotate(self.W_query(x).view(B, T, self.H, d).transpose(1, 2), places, self.base)
        k = rotate(self.W_key(x).view(B, T, self.G, d).transpose(1, 2), places, self.base)
        v = self.W_value(x).view(B, T, self.G, d).transpose(1, 2)
        k, v = (
            part[:, :, None].expand(B, self.G, self.H // self.G, T, d).flatten(1, 2)
            for part in (k, v)
        )
        if cache:
            k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
        K = k.shape[2]
        visible = torch.ones(T, K).tril(K - T)
        if self.window:
            visible = visible.triu(K - T - self.window + 1)
        w = (q @ k.mT * d**-0.5).masked_fill(visible == 0, float("-inf")).softmax(-1)
        y = self.out_proj((w @ v).transpose(1, 2).reshape(B, T, D))
        start = max(0, K + 1 - self.window) if self.window else 0
        return y, (k[:, :, start:], v[:, :, start:], n + T)
