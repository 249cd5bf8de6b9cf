"""Right names, shapes and errors, but no computation: earns a fifth of the points at most."""

import torch
from torch import nn


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
        if activation not in ("gelu", "relu"):
            raise ValueError
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        return torch.zeros_like(x)


def pad_batch(sequences, padding=0):
    shape = len(sequences), max(map(len, sequences))
    return torch.full(shape, padding), torch.zeros(shape, dtype=torch.bool)


def teacher_forcing(sequences, start, end, padding=0):
    shape = len(sequences), max(map(len, sequences)) + 1
    return torch.full(shape, padding), torch.full(shape, padding)


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, memory, visible=None):
        return torch.zeros_like(x)


class EncoderBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x, mask=None):
        return torch.zeros_like(x)


class DecoderBlock(nn.Module):
    def __init__(
        self, self_attention, cross_attention, d_model, d_hidden, norm_first=True, activation="gelu"
    ):
        super().__init__()
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x, memory, memory_mask=None):
        return torch.zeros_like(x)


class Translator(nn.Module):
    def __init__(
        self,
        source_vocab,
        target_vocab,
        max_source,
        max_target,
        d_model,
        num_heads,
        num_blocks=1,
    ):
        super().__init__()
        self.limits = max_source, max_target
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)
        self.encoder = nn.ModuleList(
            EncoderBlock(MultiHeadCrossAttention(d_model, num_heads), d_model, 4 * d_model)
            for _ in range(num_blocks)
        )
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList(
            DecoderBlock(
                MultiHeadCrossAttention(d_model, num_heads),
                MultiHeadCrossAttention(d_model, num_heads),
                d_model,
                4 * d_model,
            )
            for _ in range(num_blocks)
        )
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source, source_mask=None):
        if source.shape[1] > self.limits[0]:
            raise ValueError
        return torch.zeros(*source.shape, self.out_head.in_features)

    def decode(self, inputs, memory, source_mask=None):
        if inputs.shape[1] > self.limits[1]:
            raise ValueError
        return torch.zeros(*inputs.shape, self.out_head.out_features)

    def forward(self, source, inputs, source_mask=None):
        return self.decode(inputs, self.encode(source), source_mask)


def smoothed_cross_entropy(logits, targets, smoothing=0.0, padding=0):
    return logits.sum() * 0


def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    return torch.zeros(len(source), max_length, dtype=torch.int64)
