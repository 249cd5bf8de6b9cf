"""Functions do the work: F.embedding, F.linear, reduce and accumulate."""

import math
from functools import partial, reduce

import torch
import torch.nn.functional as F
from torch import nn


def attend(queries, keys, values, visible, dropout):
    scores = torch.matmul(queries, keys.mT).div(math.sqrt(queries.shape[-1]))
    scores = scores + torch.where(visible, 0.0, -torch.inf).to(scores.dtype)
    return F.dropout(F.softmax(scores, -1), *dropout) @ values


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("uneven heads")
        self.num_heads, self.p = num_heads, dropout
        for name in ("W_query", "W_key", "W_value"):
            self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.out_proj = nn.Linear(d_out, d_out)
        self.register_buffer("mask", torch.arange(context_length))

    def forward(self, x):
        T = x.shape[-2]
        if T > len(self.mask):
            raise ValueError("too long")
        positions = self.mask[:T]
        parts = (layer(x).unflatten(-1, (self.num_heads, -1)).movedim(-2, 1) for layer in (self.W_query, self.W_key, self.W_value))
        context = attend(*parts, positions[:, None] >= positions, (self.p, self.training))
        return self.out_proj(context.movedim(1, -2).flatten(-2))


def normalize(x, eps, centered):
    if centered:
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + eps)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.normalize = partial(normalize, eps=eps, centered=True)
        self.register_parameter("scale", nn.Parameter(torch.ones(d_model)))
        self.register_parameter("shift", nn.Parameter(torch.zeros(d_model)))

    def forward(self, x):
        return torch.addcmul(self.shift, self.normalize(x), self.scale)


def gelu(x):
    root = math.sqrt(2 / math.pi)
    return x / 2 * (torch.tanh(x * (root + root * 0.044715 * x.square())) + 1)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        match activation:
            case "gelu":
                self.activate = gelu
            case "relu":
                self.activate = F.relu
            case _:
                raise ValueError(f"unknown activation {activation}")
        self.linear1, self.linear2 = nn.Linear(d_model, d_hidden), nn.Linear(d_hidden, d_model)

    def forward(self, x):
        x = F.linear(x, self.linear1.weight, self.linear1.bias)
        return F.linear(self.activate(x), self.linear2.weight, self.linear2.bias)


def pre_norm(part, norm, x):
    return x + part(norm(x))


def post_norm(part, norm, x):
    return norm(x + part(x))


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.around = pre_norm if norm_first else post_norm

    def forward(self, x):
        return self.around(self.ff, self.norm2, self.around(self.att, self.norm1, x))


def embed(ids, table):
    return F.embedding(ids, table)


class BigramModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.add_module("table", nn.Embedding(vocab_size, vocab_size))

    def forward(self, ids):
        return embed(ids, self.table.weight)


class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        new_heads = partial(MultiHeadAttention, d_model, d_model, context_length, 0.0, num_heads)
        self.blocks = nn.ModuleList(
            TransformerBlock(new_heads(qkv_bias), d_model, 4 * d_model) for _ in range(num_layers)
        )
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.out_head.weight = self.tok_emb.weight

    def forward(self, ids):
        limit, T = len(self.pos_emb.weight), ids.size(-1)
        if T > limit:
            raise ValueError(f"{T} > {limit}")
        x = embed(ids, self.tok_emb.weight).add(self.pos_emb.weight.narrow(0, 0, T))
        x = reduce(lambda stream, block: block(stream), self.blocks, x)
        return F.linear(self.final_norm(x), self.out_head.weight)


def count_parameters(vocab_size, context_length, d_model, num_layers, qkv_bias=False, tied=False):
    matrices = [(d_model, d_model)] * 4 + [(d_model, 4 * d_model)] * 2
    vectors = [d_model] * (4 + 2 + 3 * int(qkv_bias)) + [4 * d_model]
    block = sum(map(math.prod, matrices)) + sum(vectors)
    tables = [vocab_size, context_length] + ([] if tied else [vocab_size])
    return d_model * sum(tables) + num_layers * block + 2 * d_model


def running(old, new, beta):
    return old + (1 - beta) * (new - old)


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
    b1, b2 = betas
    mean, square = running(mean, gradient, b1), running(square, gradient**2, b2)
    scale = learning_rate * math.sqrt(1 - b2**step) / (1 - b1**step)
    adam = scale * mean / (square.sqrt() + eps * math.sqrt(1 - b2**step))
    return parameter - adam - learning_rate * weight_decay * parameter, mean, square


def clip_gradients(gradients, max_norm):
    if max_norm <= 0:
        raise ValueError
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in gradients]))
    factor = torch.clamp(max_norm / (norm + 1e-12), max=1.0)
    return [g * factor.to(g.dtype) for g in gradients], norm.item()


def rate_at(step, steps, peak, warmup=0, floor=0.0):
    if not 0 <= warmup < steps:
        raise ValueError
    if step < warmup:
        return peak / warmup * step
    left = max(0, steps - step) / (steps - warmup)
    return floor + (peak - floor) * (1 - math.cos(math.pi * left)) / 2


def estimate_loss(model, ids, length):
    N = (ids.numel() - 1) // length * length
    if N <= 0:
        raise ValueError
    mode = model.training
    with torch.set_grad_enabled(False):
        logits = model.eval()(ids[:N].reshape(-1, length))
    model.train(mode)
    return F.cross_entropy(logits.transpose(1, 2), ids[1 : N + 1].reshape(-1, length)).item()


def top_k_logits(logits, k):
    if not 0 < k <= logits.size(-1):
        raise ValueError(k)
    bound = logits.sort(dim=-1, descending=True).values.narrow(-1, k - 1, 1)
    return torch.where(logits >= bound, logits, -torch.inf)


def sample_next(logits, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError(temperature)
    kept = logits if top_k is None else top_k_logits(logits, top_k)
    if temperature == 0:
        return kept.topk(1).indices
    return torch.multinomial(kept.div(temperature).softmax(-1), 1)


def continued(model, ids, context_length, choose):
    return torch.cat([ids, choose(model(ids[:, -context_length:]).select(1, -1))], 1)


def generate(model, ids, new_tokens, context_length, temperature=0.0, top_k=None):
    choose = partial(sample_next, temperature=temperature, top_k=top_k)
    with torch.inference_mode():
        for _ in range(new_tokens):
            ids = continued(model, ids, context_length, choose)
    return ids
