"""The style of Hugging Face: position ids, float64 inside, warpers, a filled result."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(num_heads)
        self.num_heads, self.context_length = num_heads, context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", ~torch.ones(context_length, context_length).tril().bool())

    def forward(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError(x.shape)
        T = x.shape[1]
        heads = []
        for q, k, v in zip(
            *(layer(x).double().chunk(self.num_heads, -1) for layer in (self.W_query, self.W_key, self.W_value))
        ):
            scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(self.mask[:T, :T], float("-inf"))
            heads.append(self.dropout(scores.softmax(-1)) @ v)
        return self.out_proj(torch.cat(heads, -1).to(x.dtype))


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        wide = x.double()
        mean = wide.mean(-1, True)
        std = torch.sqrt(wide.var(-1, unbiased=False, keepdim=True) + self.eps)
        return ((wide - mean) / std * self.scale + self.shift).to(x.dtype)


def gelu(x):
    y = x.double()
    return (0.5 * y * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (y + 0.044715 * y**3)))).to(x.dtype)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        assert activation in ("gelu", "relu")
        self.relu = activation == "relu"
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        h = self.linear1(x)
        h = torch.maximum(h, torch.zeros_like(h)) if self.relu else gelu(h)
        return self.linear2(h)


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att, self.norm_first = attention, norm_first
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model=d_model, d_hidden=d_hidden, activation=activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x):
        before = self.norm1 if self.norm_first else nn.Identity()
        after = nn.Identity() if self.norm_first else self.norm1
        x = after(x + self.att(before(x)))
        before = self.norm2 if self.norm_first else nn.Identity()
        after = nn.Identity() if self.norm_first else self.norm2
        return after(x + self.ff(before(x)))


class BigramModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(num_embeddings=vocab_size, embedding_dim=vocab_size)

    def forward(self, input_ids):
        return F.embedding(input_ids, self.table.weight)


class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.max_position_embeddings = context_length
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        layers = []
        for _ in range(num_layers):
            attention = MultiHeadAttention(
                d_in=d_model,
                d_out=d_model,
                context_length=context_length,
                dropout=0.0,
                num_heads=num_heads,
                qkv_bias=qkv_bias,
            )
            layers.append(TransformerBlock(attention=attention, d_model=d_model, d_hidden=4 * d_model))
        self.blocks = nn.ModuleList(layers)
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.tie_weights()

    def tie_weights(self):
        self.out_head.weight = self.tok_emb.weight

    def forward(self, input_ids):
        if input_ids.size(1) > self.max_position_embeddings:
            raise ValueError("input_ids are too long")
        position_ids = torch.arange(input_ids.size(1)).expand_as(input_ids)
        hidden_states = self.tok_emb(input_ids) + self.pos_emb(position_ids)
        for layer in self.blocks:
            hidden_states = layer(hidden_states)
        return self.out_head(self.final_norm(hidden_states))


def count_parameters(vocab_size, context_length, d_model, num_layers, qkv_bias=False, tied=False):
    def linear(n_in, n_out, bias):
        return n_in * n_out + n_out * bool(bias)

    layer = sum(
        (
            3 * linear(d_model, d_model, qkv_bias),
            linear(d_model, d_model, True),
            linear(d_model, 4 * d_model, True),
            linear(4 * d_model, d_model, True),
            2 * 2 * d_model,
        )
    )
    rows = vocab_size + context_length + (not tied) * vocab_size
    return rows * d_model + layer * num_layers + 2 * d_model


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
    dtype = parameter.dtype
    p, g, m, s = (one.double() for one in (parameter, gradient, mean, square))
    m = betas[0] * m + (1 - betas[0]) * g
    s = betas[1] * s + (1 - betas[1]) * g**2
    m_hat, s_hat = m / (1 - betas[0] ** step), s / (1 - betas[1] ** step)
    p = p - learning_rate * weight_decay * p - learning_rate * m_hat / (s_hat**0.5 + eps)
    return p.to(dtype), m.to(dtype), s.to(dtype)


def clip_gradients(gradients, max_norm):
    if max_norm <= 0:
        raise ValueError
    norm = torch.cat([g.flatten().double() for g in gradients]).norm().item()
    if norm <= max_norm:
        return [g.clone() for g in gradients], norm
    return [(g.double() * max_norm / norm).to(g.dtype) for g in gradients], norm


def rate_at(step, steps, peak, warmup=0, floor=0.0):
    if not 0 <= warmup < steps:
        raise ValueError
    if step < warmup:
        return float(peak * step / warmup)
    share = torch.tensor(min(1.0, (step - warmup) / (steps - warmup)), dtype=torch.float64)
    wave = torch.cos(torch.pi * share) + 1
    return (floor + (peak - floor) * wave / 2).item()


def estimate_loss(model, ids, length):
    count = (len(ids) - 1) // length
    if count < 1:
        raise ValueError
    inputs = torch.stack([ids[k * length : (k + 1) * length] for k in range(count)])
    targets = torch.stack([ids[k * length + 1 : (k + 1) * length + 1] for k in range(count)])
    before = model.training
    model.eval()
    with torch.no_grad():
        logits = model(inputs).double()
    model.train(before)
    losses = torch.logsumexp(logits, dim=-1) - logits.gather(-1, targets[..., None])[..., 0]
    return losses.mean().item()


def top_k_logits(scores, top_k):
    if top_k <= 0 or top_k > scores.size(-1):
        raise ValueError("`top_k` has to be between 1 and the vocabulary size")
    indices_to_remove = scores < torch.topk(scores, top_k)[0][..., -1, None]
    return scores.masked_fill(indices_to_remove, -float("Inf"))


def sample_next(logits, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("`temperature` has to be positive")
    scores = logits.double()
    if top_k is not None:
        scores = top_k_logits(scores, top_k)
    if temperature == 0:
        return torch.argmax(scores, dim=-1).unsqueeze(-1)
    probs = F.softmax(scores / temperature, dim=-1).to(logits.dtype)
    return torch.multinomial(probs, num_samples=1).squeeze(1)[:, None]


@torch.inference_mode()
def generate(model, input_ids, new_tokens, context_length, temperature=0.0, top_k=None):
    length = input_ids.shape[1]
    output = input_ids.new_zeros(input_ids.shape[0], length + new_tokens)
    output[:, :length] = input_ids
    for position in range(length, length + new_tokens):
        window = output[:, max(0, position - context_length) : position]
        next_token_logits = model(window)[:, -1, :]
        output[:, position] = sample_next(next_token_logits, temperature, top_k)[:, 0]
    return output.clone()
