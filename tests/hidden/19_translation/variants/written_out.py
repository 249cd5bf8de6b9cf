"""Steps of earlier exercises written out again: attention in a block, encode in forward."""

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
    max_len = max([len(s) for s in sequences])
    ids, mask = [], []
    for s in sequences:
        missing = max_len - len(s)
        ids.append(list(s) + [padding] * missing)
        mask.append([True] * len(s) + [False] * missing)
    return torch.tensor(ids), torch.tensor(mask)


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
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, t):
        b, n, _ = t.shape
        return t.reshape(b, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x, memory, visible=None):
        q = self.split(self.W_query(x))
        k = self.split(self.W_key(memory))
        v = self.split(self.W_value(memory))
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)
        if visible is not None:
            if visible.dim() == 2:
                visible = visible[None]
            scores = scores.masked_fill(visible[:, None] == False, -torch.inf)
        attn = scores.softmax(dim=-1)
        out = torch.matmul(attn, v)
        b, h, n, d = out.shape
        out = out.permute(0, 2, 1, 3).reshape(b, n, h * d)
        return self.out_proj(out)


class EncoderBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def attend(self, x, mask):
        a, H = self.att, self.att.num_heads
        q, k, v = (
            f(x).unflatten(-1, (H, -1)).transpose(1, 2) for f in (a.W_query, a.W_key, a.W_value)
        )
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, None, :], float("-inf"))
        return a.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.ff(x))


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
        h = self.source_emb(source) + self.source_pos.weight[: source.shape[1]]
        for layer in self.encoder:
            h = layer(h, source_mask)
        memory = self.encoder_norm(h)
        h = self.target_emb(inputs) + self.target_pos.weight[: inputs.shape[1]]
        for layer in self.decoder:
            h = layer(h, memory, source_mask)
        return self.out_head(self.decoder_norm(h))


def smoothed_cross_entropy(logits, targets, smoothing=0.0, padding=0):
    V = logits.size(-1)
    log_p = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    q = torch.full_like(log_p, smoothing / V)
    one_hot = nn.functional.one_hot(targets, V).to(log_p.dtype)
    q = q + (1 - smoothing) * one_hot
    loss = -(q * log_p).sum(dim=-1)
    keep = (targets != padding).to(loss.dtype)
    return (loss * keep).sum() / keep.sum()


def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    ids = [[start] for _ in source]
    done = [False] * len(ids)
    with torch.no_grad():
        memory = model.encode(source, source_mask)
        while not all(done) and len(ids[0]) <= max_length:
            logits = model.decode(torch.tensor(ids), memory, source_mask)
            for row in range(len(ids)):
                best = logits[row, -1].argmax().item()
                if done[row]:
                    best = padding
                ids[row].append(best)
                if best == end:
                    done[row] = True
    return torch.tensor(ids)[:, 1:]
