"""Einsum and additive masks, pad_sequence, a loss of chosen rows."""

import math

import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        centered = x - x.mean(-1, keepdim=True)
        deviation = (centered.square().mean(-1, keepdim=True) + self.eps).sqrt()
        return centered / deviation * self.scale + self.shift


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x.pow(3))))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        if activation not in ("gelu", "relu"):
            raise ValueError(activation)
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)
        self.activation = {"gelu": gelu, "relu": torch.relu}[activation]

    def forward(self, x):
        return self.linear2(self.activation(self.linear1(x)))


def pad_batch(sequences, padding=0):
    rows = [torch.tensor(s, dtype=torch.int64) for s in sequences]
    ids = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=padding)
    ones = [torch.ones(len(s), dtype=torch.bool) for s in sequences]
    mask = nn.utils.rnn.pad_sequence(ones, batch_first=True, padding_value=False)
    return ids, mask


def teacher_forcing(sequences, start, end, padding=0):
    max_len = max(len(s) for s in sequences) + 1
    inputs = torch.full((len(sequences), max_len), padding, dtype=torch.long)
    targets = torch.full((len(sequences), max_len), padding, dtype=torch.long)
    for i, s in enumerate(sequences):
        n = len(s)
        inputs[i, 0] = start
        inputs[i, 1 : n + 1] = torch.tensor(s)
        targets[i, :n] = torch.tensor(s)
        targets[i, n] = end
    return inputs, targets


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError
        self.h = num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, memory, visible=None):
        q = self.W_query(x).unflatten(2, (self.h, -1))
        k = self.W_key(memory).unflatten(2, (self.h, -1))
        v = self.W_value(memory).unflatten(2, (self.h, -1))
        s = torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
        if visible is not None:
            bias = torch.zeros(visible.shape, dtype=s.dtype).masked_fill(~visible, -1e9)
            s = s + (bias[:, None] if bias.ndim == 3 else bias)
        w = s.softmax(-1)
        return self.out_proj(torch.einsum("bhqk,bkhd->bqhd", w, v).flatten(2))


class EncoderBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if mask is not None:
            mask = mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.att(h, h, mask)
            h = self.norm2(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.att(x, x, mask))
            x = self.norm2(x + self.ff(x))
        return x


class DecoderBlock(nn.Module):
    def __init__(
        self, self_attention, cross_attention, d_model, d_hidden, norm_first=True, activation="gelu"
    ):
        super().__init__()
        self.self_att = self_attention
        self.cross_att = cross_attention
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.norm3 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, memory, memory_mask=None):
        n = x.size(1)
        causal = torch.tril(torch.ones(n, n)).bool()
        if memory_mask is not None:
            memory_mask = memory_mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.self_att(h, h, causal)
            h = self.norm2(x)
            x = x + self.cross_att(h, memory, memory_mask)
            h = self.norm3(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.self_att(x, x, causal))
            x = self.norm2(x + self.cross_att(x, memory, memory_mask))
            x = self.norm3(x + self.ff(x))
        return x


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
        self.max_source, self.max_target = max_source, max_target
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)
        att = lambda: MultiHeadCrossAttention(d_model, num_heads)
        self.encoder = nn.ModuleList(
            [EncoderBlock(att(), d_model, d_model * 4) for _ in range(num_blocks)]
        )
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList(
            [DecoderBlock(att(), att(), d_model, d_model * 4) for _ in range(num_blocks)]
        )
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source, source_mask=None):
        b, n = source.shape
        if n > self.max_source:
            raise ValueError("source too long")
        pos = torch.arange(n).expand(b, n)
        h = self.source_emb(source) + self.source_pos(pos)
        for layer in self.encoder:
            h = layer(h, source_mask)
        h = self.encoder_norm(h)
        return h

    def decode(self, inputs, memory, source_mask=None):
        b, n = inputs.shape
        if n > self.max_target:
            raise ValueError("target too long")
        pos = torch.arange(n).expand(b, n)
        h = self.target_emb(inputs) + self.target_pos(pos)
        for layer in self.decoder:
            h = layer(h, memory, source_mask)
        h = self.decoder_norm(h)
        return self.out_head(h)

    def forward(self, source, inputs, source_mask=None):
        return self.decode(inputs, self.encode(source, source_mask), source_mask)


def smoothed_cross_entropy(logits, targets, smoothing=0.0, padding=0):
    keep = targets != padding
    logits, targets = logits[keep], targets[keep]
    log_probs = torch.log_softmax(logits, -1)
    n = torch.arange(len(targets))
    nll = -log_probs[n, targets]
    uniform = -log_probs.sum(-1) / logits.shape[-1]
    return torch.lerp(nll, uniform, smoothing).sum() / len(targets)


@torch.no_grad()
def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    b = source.size(0)
    memory = model.encode(source, source_mask)
    seq = torch.full((b, 1), start, dtype=torch.long)
    finished = torch.zeros(b).bool()
    for step in range(max_length):
        logits = model.decode(seq, memory, source_mask)
        nxt = logits[:, -1, :].argmax(dim=-1)
        nxt = torch.where(finished, torch.full_like(nxt, padding), nxt)
        seq = torch.cat([seq, nxt[:, None]], dim=1)
        finished = finished | (nxt == end)
        if bool(finished.all()):
            break
    return seq[:, 1:]
