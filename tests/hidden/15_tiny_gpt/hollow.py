"""Right names, shapes and errors, but no computation: earns a fifth of the points at most."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        return torch.zeros_like(x)


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return torch.zeros_like(x)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        return torch.zeros_like(x)


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x):
        return torch.zeros_like(x)


class BigramModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, ids):
        return torch.zeros(*ids.shape, self.table.num_embeddings)


class GPT(nn.Module):
    def __init__(
        self,
        vocab_size,
        context_length,
        d_model,
        num_heads,
        num_layers,
        qkv_bias=False,
        tied=False,
    ):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList(
            TransformerBlock(
                MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias),
                d_model,
                4 * d_model,
            )
            for _ in range(num_layers)
        )
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids):
        if ids.shape[1] > self.pos_emb.num_embeddings:
            raise ValueError
        return torch.zeros(*ids.shape, self.tok_emb.num_embeddings)


def count_parameters(vocab_size, context_length, d_model, num_layers, qkv_bias=False, tied=False):
    return 0


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
    return torch.zeros_like(parameter), torch.zeros_like(mean), torch.zeros_like(square)


def clip_gradients(gradients, max_norm):
    if max_norm <= 0:
        raise ValueError
    return [torch.zeros_like(gradient) for gradient in gradients], 0.0


def rate_at(step, steps, peak, warmup=0, floor=0.0):
    if not 0 <= warmup < steps:
        raise ValueError
    return 0.0


def estimate_loss(model, ids, length):
    if len(ids) <= length:
        raise ValueError
    with torch.no_grad():
        return 0.0


def top_k_logits(logits, k):
    if not 1 <= k <= logits.shape[-1]:
        raise ValueError
    return torch.zeros_like(logits)


def sample_next(logits, temperature=1.0, top_k=None):
    if temperature < 0 or (top_k is not None and not 1 <= top_k <= logits.shape[-1]):
        raise ValueError
    return torch.zeros(logits.shape[0], 1, dtype=torch.long)


def generate(model, ids, new_tokens, context_length, temperature=0.0, top_k=None):
    return torch.cat((ids, torch.zeros(ids.shape[0], new_tokens, dtype=torch.long)), dim=1)
