"""Products by einsum, and one-hot vectors in place of lookups."""

import math

import torch
from torch import einsum, nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("num_heads must divide d_out")
        self.heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril().bool())

    def forward(self, x):
        T = x.size(1)
        if T > self.mask.size(0):
            raise ValueError("too many tokens")
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.W_query, self.W_key, self.W_value))
        scores = einsum("bqhd,bkhd->bhqk", q, k) * q.size(-1) ** -0.5
        weights = scores.where(self.mask[:T, :T], -torch.inf).softmax(-1)
        return self.out_proj(einsum("bhqk,bkhd->bqhd", self.drop(weights), v).flatten(2))


def mean_of_products(x, y):
    return einsum("...d,...d->...", x, y).div(x.shape[-1])[..., None]


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        centered = x - mean_of_products(x, torch.ones_like(x))
        variance = mean_of_products(centered, centered)
        return einsum("...d,d->...d", centered * (variance + self.eps) ** -0.5, self.scale) + self.shift


def gelu(x):
    return x * torch.sigmoid(2 * (2 / torch.pi) ** 0.5 * (x + 0.044715 * x * x * x))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        self.act = {"gelu": gelu, "relu": lambda x: x.clamp(min=0)}[activation]  # a KeyError refuses other names
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        hidden = self.act(einsum("...i,hi->...h", x, self.linear1.weight) + self.linear1.bias)
        return einsum("...h,ih->...i", hidden, self.linear2.weight) + self.linear2.bias


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att, self.norm_first = attention, norm_first
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)

    def forward(self, x):
        for part, norm in ((self.att, self.norm1), (self.ff, self.norm2)):
            x = x + part(norm(x)) if self.norm_first else norm(x + part(x))
        return x


def one_hot(ids, weight):
    places = torch.arange(weight.shape[0], device=ids.device)
    return (ids[..., None] == places).to(weight.dtype)


class BigramModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, ids):
        weight = self.table.weight
        return einsum("btv,vw->btw", one_hot(ids, weight), weight)


class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            heads = MultiHeadAttention(d_model, d_model, context_length, 0, num_heads, qkv_bias)
            self.blocks.append(TransformerBlock(heads, d_model, d_model * 4))
        self.final_norm = LayerNorm(d_model)
        self.out_head = None if tied else nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids):
        B, T = ids.shape
        if T > self.pos_emb.weight.size(0):
            raise ValueError(T)
        vectors = self.tok_emb.weight
        x = einsum("btv,vd->btd", one_hot(ids, vectors), vectors)
        x = x + self.pos_emb.weight[:T]
        for block in self.blocks:
            x = block(x)
        head = vectors if self.out_head is None else self.out_head.weight
        return einsum("btd,vd->btv", self.final_norm(x), head)


def count_parameters(vocab_size, context_length, d_model, num_layers, qkv_bias=False, tied=False):
    per_block = 12 * d_model**2 + (13 if qkv_bias else 10) * d_model
    tables = (1 if tied else 2) * vocab_size + context_length
    return tables * d_model + num_layers * per_block + 2 * d_model


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
    if step <= 0:
        raise ValueError
    mean = torch.lerp(mean, gradient, 1 - betas[0])
    square = torch.lerp(square, gradient.square(), 1 - betas[1])
    unbiased_mean = mean / (1 - betas[0] ** step)
    unbiased_square = square / (1 - betas[1] ** step)
    change = unbiased_mean / (unbiased_square.sqrt() + eps) 
    shrunk = parameter * (1 - learning_rate * weight_decay)
    return torch.add(shrunk, change, alpha=-learning_rate), mean, square


def clip_gradients(gradients, max_norm):
    if not max_norm > 0:
        raise ValueError
    squares = [torch.einsum("i,i->", g.reshape(-1), g.reshape(-1)) for g in gradients]
    norm = float(torch.stack(squares).sum().sqrt())
    factor = min(1.0, max_norm / norm) if norm > 0 else 1.0
    return [factor * g for g in gradients], norm


def rate_at(step, steps, peak, warmup=0, floor=0.0):
    if not 0 <= warmup < steps:
        raise ValueError
    if step < warmup:
        return step / warmup * peak
    angle = math.pi * min(1.0, (step - warmup) / (steps - warmup))
    return (peak + floor) / 2 + (peak - floor) / 2 * math.cos(angle)


def estimate_loss(model, ids, length):
    if len(ids) < length + 1:
        raise ValueError
    pieces = ids.unfold(0, length + 1, length)
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            shares = torch.log_softmax(model(pieces[:, :-1]), dim=-1)
    finally:
        model.train(training)
    found = shares.gather(-1, pieces[:, 1:, None])
    return -found.mean().item()


def top_k_logits(logits, k):
    if k not in range(1, logits.shape[-1] + 1):
        raise ValueError(k)
    larger = (logits[..., None, :] > logits[..., :, None]).sum(-1)
    return logits.masked_fill(larger >= k, -torch.inf)


def sample_next(logits, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError(temperature)
    logits = logits if top_k is None else top_k_logits(logits, top_k)
    if not temperature:
        return logits.max(-1, keepdim=True).indices
    exponentials = (logits / temperature - (logits / temperature).amax(-1, keepdim=True)).exp()
    return (exponentials / exponentials.sum(-1, keepdim=True)).multinomial(1)


@torch.no_grad()
def generate(model, ids, new_tokens, context_length, temperature=0.0, top_k=None):
    for _ in range(new_tokens):
        seen = ids[:, max(0, ids.shape[1] - context_length) :]
        ids = torch.hstack([ids, sample_next(model(seen)[:, -1], temperature, top_k)])
    return ids
