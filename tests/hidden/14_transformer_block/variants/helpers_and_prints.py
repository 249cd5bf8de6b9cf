"""A base class for both norms, helpers from stage 10, prints and a demo."""

import torch
from torch import Tensor, nn

print("stage 14")
ROOT = torch.tensor(2 / torch.pi).sqrt().item()


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    B, T, D = x.shape
    if D % num_heads:
        raise ValueError(f"{D} % {num_heads} != 0")
    return x.view(B, T, num_heads, D // num_heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        T = x.shape[1]
        assert T <= self.mask.shape[0]
        q, k, v = (split_heads(w(x), self.num_heads) for w in (self.W_query, self.W_key, self.W_value))
        scores = q @ k.transpose(-1, -2) / k.size(-1) ** 0.5
        exponentials = torch.exp(scores - scores.amax(-1, keepdim=True)) * self.mask[:T, :T]
        weights = self.dropout(exponentials / exponentials.sum(-1, keepdim=True))
        return self.out_proj(merge_heads(weights @ v))


class Norm(nn.Module):
    """Divides by the root of the mean square, after *center*."""

    def __init__(self, d_model, eps):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))

    def center(self, x):
        return x

    def forward(self, x):
        x = self.center(x)
        return x * self.scale / (x.pow(2).mean(dim=-1, keepdim=True) + self.eps).pow(0.5)


class RMSNorm(Norm):
    def __init__(self, d_model, eps=1e-6):
        super().__init__(d_model, eps)


class LayerNorm(Norm):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps)
        self.shift = nn.Parameter(torch.zeros(d_model))

    def center(self, x):
        return x - x.mean(dim=-1, keepdim=True)

    def forward(self, x):
        return super().forward(x) + self.shift


def gelu(x: Tensor) -> Tensor:
    argument = ROOT * (x + 0.044715 * x.pow(3))
    up, down = torch.exp(argument.clamp(max=40)), torch.exp(-argument.clamp(max=40))
    return 0.5 * x * (1 + (up - down) / (up + down))


class DeepNetwork(nn.Module):
    def __init__(self, layer_sizes, use_shortcut):
        super().__init__()
        self.use_shortcut = use_shortcut
        layers = []
        for d_in, d_out in zip(layer_sizes, layer_sizes[1:]):
            layers.append(nn.Linear(d_in, d_out))
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        print("input", tuple(x.shape))
        for layer in self.layers:
            y = gelu(layer(x))
            if self.use_shortcut:
                try:
                    y = y + x if y.shape == x.shape else y
                except RuntimeError:
                    pass
            x = y
        return x


class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        if activation not in {"relu", "gelu"}:
            raise ValueError(f"{activation=}")
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)
        self.activation = activation

    def forward(self, x):
        x = self.linear1(x)
        x = gelu(x) if self.activation == "gelu" else x * (x > 0)
        return self.linear2(x)


def silu(x):
    return x * x.sigmoid()


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden, bias=None)
        self.up = nn.Linear(d_model, d_hidden, bias=None)
        self.down = nn.Linear(d_hidden, d_model, bias=None)

    def forward(self, x):
        return self.down(silu(self.gate(x)).mul(self.up(x)))


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        return self._pre(x) if self.norm_first else self._post(x)

    def _pre(self, x):
        attended = self.att(self.norm1(x))
        middle = x + attended
        return middle + self.ff(self.norm2(middle))

    def _post(self, x):
        middle = self.norm1(x + self.att(x))
        return self.norm2(middle + self.ff(middle))


if __name__ == "__main__":
    print(TransformerBlock(MultiHeadAttention(4, 4, 8, 0.0, 2), 4, 16)(torch.randn(1, 8, 4)))
