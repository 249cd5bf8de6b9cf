"""The style of the book: its names, its dropout, its sampling loop."""

import math

import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.d_out = d_out
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer(
            "mask", torch.triu(torch.ones(context_length, context_length), diagonal=1)
        )

    def forward(self, x):
        b, num_tokens, _ = x.shape
        keys = self.W_key(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        queries = self.W_query(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        values = self.W_value(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        attn_scores = queries @ keys.transpose(2, 3)
        mask_bool = self.mask.bool()[:num_tokens, :num_tokens]
        attn_scores.masked_fill_(mask_bool, -torch.inf)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        attn_weights = self.dropout(attn_weights)
        context_vec = (attn_weights @ values).transpose(1, 2)
        context_vec = context_vec.contiguous().view(b, num_tokens, self.d_out)
        return self.out_proj(context_vec)


class LayerNorm(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, keepdim=True, unbiased=False)
        norm_x = (x - mean) / torch.sqrt(var + self.eps)
        return self.scale * norm_x + self.shift


class GELU(nn.Module):
    def forward(self, x):
        return (
            0.5
            * x
            * (
                1
                + torch.tanh(
                    torch.sqrt(torch.tensor(2.0 / torch.pi))
                    * (x + 0.044715 * torch.pow(x, 3))
                )
            )
        )


def gelu(x):
    return GELU()(x)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        activations = {"gelu": GELU, "relu": nn.ReLU}
        if activation not in activations:
            raise ValueError(activation)
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.activation = activations[activation]()
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        return self.linear2(self.activation(self.linear1(x)))


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        shortcut = x
        if self.norm_first:
            x = self.norm1(x)
        x = self.att(x)
        x = x + shortcut
        if not self.norm_first:
            x = self.norm1(x)

        shortcut = x
        if self.norm_first:
            x = self.norm2(x)
        x = self.ff(x)
        x = x + shortcut
        if not self.norm_first:
            x = self.norm2(x)
        return x


class BigramModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx):
        logits = self.table(idx)
        return logits


class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.context_length = context_length
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.drop_emb = nn.Dropout(0.0)
        self.blocks = nn.ModuleList(
            [
                TransformerBlock(
                    MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias),
                    d_model,
                    d_hidden=4 * d_model,
                )
                for _ in range(num_layers)
            ]
        )
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.tok_emb.weight = self.out_head.weight

    def forward(self, in_idx):
        batch_size, seq_len = in_idx.shape
        if seq_len > self.context_length:
            raise ValueError("text too long")
        tok_embeds = self.tok_emb(in_idx)
        pos_embeds = self.pos_emb(torch.arange(seq_len, device=in_idx.device))
        x = tok_embeds + pos_embeds
        x = self.drop_emb(x)
        for block in self.blocks:
            x = block(x)
        x = self.final_norm(x)
        logits = self.out_head(x)
        return logits


def count_parameters(vocab_size, context_length, d_model, num_layers, qkv_bias=False, tied=False):
    total = vocab_size * d_model
    total += context_length * d_model
    for _ in range(num_layers):
        total += 3 * (d_model * d_model)
        total += 3 * d_model if qkv_bias else 0
        total += d_model * d_model + d_model
        total += d_model * 4 * d_model + 4 * d_model
        total += 4 * d_model * d_model + d_model
        total += 2 * (d_model + d_model)
    total += d_model + d_model
    if not tied:
        total += d_model * vocab_size
    return total


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
        raise ValueError("step counts from 1")
    exp_avg = mean * betas[0] + gradient * (1 - betas[0])
    exp_avg_sq = square * betas[1] + gradient * gradient * (1 - betas[1])
    bias_correction1 = 1 - betas[0] ** step
    bias_correction2 = 1 - betas[1] ** step
    step_size = learning_rate / bias_correction1
    denom = exp_avg_sq.sqrt() / bias_correction2**0.5 + eps
    new = parameter - learning_rate * weight_decay * parameter
    return new - step_size * exp_avg / denom, exp_avg, exp_avg_sq


def clip_gradients(gradients, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm must be positive")
    norm = sum((g**2).sum() for g in gradients) ** 0.5
    clip_coef = max_norm / (norm + 1e-6)
    if clip_coef < 1:
        gradients = [g * clip_coef for g in gradients]
    return list(gradients), norm.item()


def rate_at(step, steps, peak, warmup=0, floor=0.0):
    if warmup < 0 or warmup >= steps:
        raise ValueError
    if step < warmup:
        return peak * (step / warmup)
    if step > steps:
        return floor
    decay_ratio = (step - warmup) / (steps - warmup)
    coeff = 0.5 * (1.0 + math.cos(math.pi * decay_ratio))
    return floor + coeff * (peak - floor)


@torch.no_grad()
def estimate_loss(model, ids, length):
    pieces = (ids.shape[0] - 1) // length
    if pieces == 0:
        raise ValueError
    mode = model.training
    model.eval()
    losses = torch.zeros(pieces)
    for k in range(pieces):
        X = ids[k * length : (k + 1) * length][None]
        Y = ids[k * length + 1 : (k + 1) * length + 1]
        losses[k] = nn.functional.cross_entropy(model(X)[0], Y).item()
    if mode:
        model.train()
    return losses.mean().item()


def top_k_logits(logits, k):
    if k < 1 or k > logits.size(-1):
        raise ValueError("k must be between 1 and the size of the vocabulary")
    top_logits, _ = torch.topk(logits, k)
    min_val = top_logits[..., -1, None]
    return torch.where(logits < min_val, torch.tensor(float("-inf")).to(logits), logits)


def sample_next(logits, temperature=1.0, top_k=None):
    if temperature < 0.0:
        raise ValueError("temperature must be at least 0")
    if top_k is not None:
        logits = top_k_logits(logits, top_k)
    if temperature > 0.0:
        logits = logits / temperature
        probs = torch.softmax(logits, dim=-1)
        idx_next = torch.multinomial(probs, num_samples=1)
    else:
        idx_next = torch.argmax(logits, dim=-1, keepdim=True)
    return idx_next


def generate(model, idx, max_new_tokens, context_size, temperature=0.0, top_k=None):
    for _ in range(max_new_tokens):
        idx_cond = idx[:, -context_size:]
        with torch.no_grad():
            logits = model(idx_cond)
        logits = logits[:, -1, :]
        idx_next = sample_next(logits, temperature, top_k)
        idx = torch.cat((idx, idx_next), dim=1)
    return idx
