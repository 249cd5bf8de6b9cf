import torch
from torch import nn


class DecoderAttention(nn.Module):
    """Caches plain keys, and turns all of them in each call."""

    def __init__(self, d_model, num_heads, num_kv_heads, window=None, base=10000.0):
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads or d_model // num_heads % 2:
            raise ValueError("heads do not fit")
        self.H, self.G, self.window, self.base = num_heads, num_kv_heads, window, base
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model // num_heads * num_kv_heads, bias=False)
        self.W_value = nn.Linear(d_model, d_model // num_heads * num_kv_heads, bias=False)
        self.out_proj = nn.Linear(d_model, d_model)

    def turned(self, x, first):
        """Multiply pairs by e^(i · angle)."""
        T, d = x.shape[-2:]
        angles = torch.outer(
            torch.arange(first, first + T).float(), self.base ** (-torch.arange(0, d, 2) / d)
        )
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], d // 2, 2))
        turns = torch.polar(torch.ones_like(angles), angles).to(pairs.dtype)
        return torch.view_as_real(pairs * turns).flatten(-2)

    def forward(self, x, cache=None):
        B, T, D = x.shape
        d, n = D // self.H, cache[2] if cache else 0
        q = self.W_query(x).view(B, T, self.H, d).transpose(1, 2)
        k = self.W_key(x).view(B, T, self.G, d).transpose(1, 2)
        v = self.W_value(x).view(B, T, self.G, d).transpose(1, 2)
        if cache:
            k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
        K = k.shape[2]
        visible = torch.ones(T, K).tril(K - T)
        if self.window:
            visible = visible.triu(K - T - self.window + 1)
        keys = repeat_heads(self.turned(k, n + T - K), self.H)
        scores = self.turned(q, n) @ keys.mT * d**-0.5
        w = scores.masked_fill(visible == 0, float("-inf")).softmax(-1)
        y = self.out_proj((w @ repeat_heads(v, self.H)).transpose(1, 2).reshape(B, T, D))
        start = max(0, K + 1 - self.window) if self.window else 0
        return y, (k[:, :, start:], v[:, :, start:], n + T)
