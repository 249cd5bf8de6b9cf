"""Loops over items, heads and tokens, minus one billion, and a softmax written out."""

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
    rows, masks = [], []
    longest = len(max(sequences, key=len))
    for sequence in sequences:
        row = torch.nn.functional.pad(
            torch.tensor(sequence), (0, longest - len(sequence)), value=padding
        )
        rows.append(row)
        masks.append(torch.tensor([at < len(sequence) for at in range(longest)]))
    return torch.stack(rows), torch.stack(masks)


def teacher_forcing(sequences, start, end, padding=0):
    starts = [[start] + list(sequence) + [end] for sequence in sequences]
    ids, _ = pad_batch(starts, padding)
    return ids[:, :-1], ids[:, 1:]


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("uneven heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, memory, visible=None):
        d = x.shape[-1] // self.num_heads
        queries, keys, values = self.W_query(x), self.W_key(memory), self.W_value(memory)
        if visible is not None:
            visible = visible.expand(len(x), x.shape[1], memory.shape[1])
        items = []
        for b in range(len(x)):
            heads = []
            for h in range(self.num_heads):
                part = slice(h * d, (h + 1) * d)
                scores = queries[b, :, part] @ keys[b, :, part].T / math.sqrt(d)
                if visible is not None:
                    scores = torch.where(visible[b], scores, torch.full_like(scores, -1e9))
                exps = torch.exp(scores - scores.max(dim=1, keepdim=True).values)
                heads.append(exps / exps.sum(dim=1, keepdim=True) @ values[b, :, part])
            items.append(torch.cat(heads, dim=1))
        return self.out_proj(torch.stack(items))


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
    V = logits.shape[-1]
    losses = []
    for row, wanted in zip(logits.flatten(0, 1), targets.flatten()):
        if wanted == padding:
            continue
        log_p = torch.log_softmax(row, dim=0)
        q = [smoothing / V + (1 - smoothing if k == wanted else 0) for k in range(V)]
        losses.append(-sum(one * p for one, p in zip(q, log_p)))
    return torch.stack(losses).mean()


def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    rows = []
    with torch.inference_mode():
        for b in range(source.shape[0]):
            one_mask = None if source_mask is None else source_mask[b : b + 1]
            memory = model.encode(source[b : b + 1], one_mask)
            row = [start]
            while len(row) <= max_length and (row[-1] != end or len(row) == 1):
                logits = model.decode(torch.tensor([row]), memory, one_mask)
                row.append(int(logits[0, -1].argmax()))
            rows.append(row[1:])
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [padding] * (longest - len(row)) for row in rows])
