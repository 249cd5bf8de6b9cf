"""The style of nanoGPT: asserts, weights tied by assignment, loops over items."""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError
        self.H = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.full((context_length, context_length), -1e9).triu(1))

    def forward(self, x):
        B, T, _ = x.shape
        layers = self.W_query, self.W_key, self.W_value
        qkv = x @ torch.cat([layer.weight for layer in layers]).T
        if self.W_query.bias is not None:
            qkv = qkv + torch.cat([layer.bias for layer in layers])
        q, k, v = qkv.view(B, T, 3, self.H, -1).permute(2, 0, 3, 1, 4)
        q, k, v = (part.flatten(0, 1) for part in (q, k, v))
        scores = torch.bmm(q / q.shape[-1] ** 0.5, k.transpose(1, 2)) + self.mask[:T, :T]
        context = torch.bmm(self.dropout(scores.softmax(-1)), v)
        return self.out_proj(context.view(B, self.H, T, -1).transpose(1, 2).flatten(2))


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        x = x - x.sum(-1, keepdim=True) / self.d_model
        return x / ((x * x).sum(-1, keepdim=True) / self.d_model + self.eps).sqrt() * self.scale + self.shift


class Gelu(nn.Module):
    forward = staticmethod(lambda x: gelu(x))


def gelu(x):
    cubed = torch.pow(x, 3).mul(0.044715).add(x)
    return torch.tanh(cubed * (2 / torch.pi) ** 0.5).add(1).mul(x).mul(0.5)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        if activation == "gelu":
            self.act = Gelu()
        elif activation == "relu":
            self.act = nn.ReLU()
        else:
            raise ValueError("gelu or relu")
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        return nn.Sequential(self.linear1, self.act, self.linear2)(x)


class Shortcut(nn.Module):
    """Return x plus the result of *parts* for x."""

    def __init__(self, *parts):
        super().__init__()
        self.parts = nn.Sequential(*parts)

    def forward(self, x):
        return x + self.parts(x)


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            halves = [Shortcut(self.norm1, self.att), Shortcut(self.norm2, self.ff)]
        else:
            halves = [Shortcut(self.att), self.norm1, Shortcut(self.ff), self.norm2]
        return nn.Sequential(*halves)(x)


class BigramModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx):
        return self.table.weight[idx]


class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.block_size = context_length
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList(
            [
                TransformerBlock(
                    MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias),
                    d_model,
                    4 * d_model,
                )
                for _ in range(num_layers)
            ]
        )
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.tok_emb.weight = self.out_head.weight

    def forward(self, idx):
        b, t = idx.size()
        if t > self.block_size:
            raise ValueError(f"Cannot forward sequence of length {t}, block size is {self.block_size}")
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device).unsqueeze(0)
        x = self.tok_emb(idx) + self.pos_emb(pos)
        for block in self.blocks:
            x = block(x)
        x = self.final_norm(x)
        return self.out_head(x)


def count_parameters(vocab_size, context_length, d_model, num_layers, qkv_bias=False, tied=False):
    V, C, L = vocab_size, d_model, num_layers
    wte, wpe = V * C, context_length * C
    attn = 3 * C * C + (3 * C if qkv_bias else 0) + C * C + C
    mlp = C * 4 * C + 4 * C + 4 * C * C + C
    head = V * C
    total = wte + wpe + L * (attn + mlp + 4 * C) + 2 * C + head
    return total - head if tied else total


def adamw_step(
    parameter,
    gradient,
    mean,
    square,
    step,
    learning_rate,
    betas=(0.9, 0.999),
    eps=1e-8,
    weight_decay=0.01,
):
    if step < 1:
        raise ValueError
    with torch.no_grad():
        new, mean, square = parameter.clone(), mean.clone(), square.clone()
        mean.mul_(betas[0]).add_(gradient, alpha=1 - betas[0])
        square.mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
        new.mul_(1 - learning_rate * weight_decay)
        bottom = (square / (1 - betas[1] ** step)).sqrt_().add_(eps)
        new.addcdiv_(mean, bottom, value=-learning_rate / (1 - betas[0] ** step))
    return new, mean, square


def clip_gradients(gradients, max_norm):
    if max_norm <= 0:
        raise ValueError
    total = 0.0
    for g in gradients:
        total += g.pow(2).sum().item()
    norm = total**0.5
    if norm <= max_norm:
        return gradients, norm
    return [g / (norm / max_norm) for g in gradients], norm


def rate_at(step, steps, peak, warmup=0, floor=0.0):
    if not 0 <= warmup < steps:
        raise ValueError
    if step < warmup:
        return peak * step / warmup
    if step >= steps:
        return floor
    return floor + (peak - floor) * math.cos(math.pi / 2 * (step - warmup) / (steps - warmup)) ** 2


def estimate_loss(model, ids, length):
    if ids.size(0) <= length:
        raise ValueError
    was = model.training
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for start in range(0, ids.size(0) - length, length):
            logits = model(ids[start : start + length].unsqueeze(0)).squeeze(0)
            targets = ids[start + 1 : start + length + 1]
            total += nn.functional.cross_entropy(logits, targets, reduction="sum").item()
            count += length
    model.train(was)
    return total / count


def top_k_logits(logits, k):
    if k < 1 or k > logits.size(-1):
        raise ValueError("k")
    logits = logits.clone()
    v, _ = torch.topk(logits, k)
    logits[logits < v[..., [-1]]] = -float("Inf")
    return logits


def sample_next(logits, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None:
        logits = top_k_logits(logits, top_k)
    if temperature == 0:
        return torch.stack([row.argmax() for row in logits])[:, None]
    probs = nn.functional.softmax(logits / temperature, dim=-1)
    return torch.multinomial(probs, num_samples=1)


def generate(model, idx, max_new_tokens, block_size, temperature=0.0, top_k=None):
    was = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        for _ in range(max_new_tokens):
            idx_cond = idx if idx.size(1) <= block_size else idx[:, -block_size:]
            logits = model(idx_cond)
            idx_next = sample_next(logits[:, -1, :], temperature, top_k)
            idx = torch.cat((idx, idx_next), dim=1)
    finally:
        torch.set_grad_enabled(was)
    return idx
