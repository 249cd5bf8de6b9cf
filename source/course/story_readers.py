"""Defines small models around a learner's code, which labs train and look into.

Each class gets the learner's *code*: the module of the stage.
"""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

LONGEST = 128  # characters that a reader of stage 13 can read


class PositionReader(nn.Module):
    """Predicts the next character, (B, T) -> (B, T, V), with one *kind* of positions."""

    def __init__(
        self, kind: str, code: ModuleType, vocab: int = 48, d_model: int = 32, heads: int = 4
    ) -> None:
        super().__init__()
        self.kind, self.code, self.heads = kind, code, heads
        self.letter = nn.Embedding(vocab, d_model)
        self.position = nn.Embedding(LONGEST, d_model) if kind == "learned" else None
        self.parts = nn.ModuleList(
            _PositionLayer(kind == "RoPE", code, d_model, heads) for _ in range(2)
        )
        self.norm, self.logits = nn.LayerNorm(d_model), nn.Linear(d_model, vocab, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits of the next character."""
        B, T = ids.shape
        x = self.letter(ids)
        if self.position is not None:
            x = x + self.position.weight[:T]
        elif self.kind == "sinusoidal":
            x = x + self.code.sinusoidal_positions(T, x.shape[-1])
        mask = torch.full((T, T), -torch.inf).triu(1)
        if self.kind == "ALiBi":
            mask = (mask + self.code.alibi_bias(self.heads, T, T)).repeat(B, 1, 1)
        for layer in self.parts:
            x = layer(x, mask)
        return self.logits(self.norm(x))


class _PositionLayer(nn.Module):
    """Attention and a small network, each added to its input."""

    def __init__(self, turns: bool, code: ModuleType, d_model: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.turns = turns
        if turns:
            self.attention = code.RotaryAttention(d_model, d_model, LONGEST, heads)
        else:
            self.attention = nn.MultiheadAttention(d_model, heads, batch_first=True)
        self.network = _network(d_model)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the tokens with what attention and the network add, (B, T, d_model)."""
        normed = self.norm1(x)
        if self.turns:
            x = x + self.attention(normed)
        else:
            x = x + self.attention(normed, normed, normed, attn_mask=mask, need_weights=False)[0]
        return x + self.network(self.norm2(x))


class Stack(nn.Module):
    """*count* of the learner's blocks between an embedding and scores for the symbols."""

    def __init__(
        self,
        count: int,
        code: ModuleType,
        *,
        norm_first: bool = True,
        vocab: int = 48,
        d_model: int = 32,
        places: int = 32,
    ) -> None:
        super().__init__()
        self.symbol = nn.Embedding(vocab, d_model)
        self.place = nn.Embedding(places, d_model)
        self.blocks = nn.Sequential()
        for _ in range(count):
            attention = code.MultiHeadAttention(d_model, d_model, places, 0.0, 4)
            self.blocks.append(
                code.TransformerBlock(attention, d_model, 4 * d_model, norm_first=norm_first)
            )
        self.last_norm = code.LayerNorm(d_model)
        self.scores = nn.Linear(d_model, vocab, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the scores of the next symbol: (B, T) -> (B, T, V)."""
        x = self.symbol(ids) + self.place.weight[: ids.shape[1]]
        return self.scores(self.last_norm(self.blocks(x)))


class PairReader(nn.Module):
    """*count* of the learner's blocks without their networks, for the task of pairs.

    Queries and keys are rotated by their position, as in stage 13.
    """

    def __init__(
        self, count: int, code: ModuleType, letters: int = 16, d_model: int = 32, heads: int = 2
    ) -> None:
        super().__init__()
        self.letter = nn.Embedding(letters, d_model)
        self.blocks = nn.Sequential()
        turn = _rotations(32, d_model, heads)
        for _ in range(count):
            attention = code.MultiHeadAttention(d_model, d_model, 32, 0.0, heads)
            for layer in (attention.W_query, attention.W_key):
                layer.register_forward_hook(
                    lambda _layer, _given, made: (turn[: made.shape[1]] @ made[..., None])[..., 0]
                )
            block = code.TransformerBlock(attention, d_model, 1)
            _take_network_away(block)
            self.blocks.append(block)
        self.last_norm = code.LayerNorm(d_model)
        self.scores = nn.Linear(d_model, letters, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the scores of the next letter: (B, T) -> (B, T, letters)."""
        x = self.letter(ids)
        return self.scores(self.last_norm(self.blocks(x)))


class DecoderReader(nn.Module):
    """Predicts the next character with the learner's ``DecoderAttention``, from its caches on."""

    def __init__(
        self,
        code: ModuleType,
        heads_of_keys: int,
        window: int | None = None,
        *,
        vocab: int = 48,
        d_model: int = 48,
        heads: int = 4,
    ) -> None:
        super().__init__()
        self.letter = nn.Embedding(vocab, d_model)
        self.parts = nn.ModuleList(
            _DecoderLayer(code.DecoderAttention(d_model, heads, heads_of_keys, window), d_model)
            for _ in range(2)
        )
        self.norm, self.logits = nn.LayerNorm(d_model), nn.Linear(d_model, vocab, bias=False)

    def forward(
        self, ids: Tensor, caches: Sequence[Any] = (None, None)
    ) -> tuple[Tensor, list[Any]]:
        """Return the logits of the next character, and the new caches."""
        x, new = self.letter(ids), []
        for layer, cache in zip(self.parts, caches, strict=True):
            x, kept = layer(x, cache)
            new.append(kept)
        return self.logits(self.norm(x)), new


class _DecoderLayer(nn.Module):
    """The learner's attention and a small network, each added to its input."""

    def __init__(self, attention: nn.Module, d_model: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention, self.network = attention, _network(d_model)

    def forward(self, x: Tensor, cache: Any) -> tuple[Tensor, Any]:
        """Return the tokens with what both parts add, and the new cache."""
        mixed, kept = self.attention(self.norm1(x), cache)
        x = x + mixed
        return x + self.network(self.norm2(x)), kept


class CachedBlock(nn.Module):
    """A block of stage 14 with the learner's attention of stage 16, which gets its cache."""

    def __init__(self, code: ModuleType, d_model: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.att = code.CachedMultiHeadAttention(d_model, d_model, heads)
        self.network = _network(d_model)

    def forward(self, x: Tensor, cache: Any) -> tuple[Tensor, Any]:
        """Return the tokens with what both parts add, and the new cache."""
        mixed, cache = self.att(self.norm1(x), cache)
        x = x + mixed
        return x + self.network(self.norm2(x)), cache


class FunctionGPT(nn.Module):
    """A GPT of two layers, whose attention is a function that it gets in each call.

    The function is (queries, keys, values) -> context, each (B, heads, T, d_model / heads).
    """

    def __init__(
        self, vocab: int = 48, d_model: int = 64, heads: int = 4, places: int = 32
    ) -> None:
        super().__init__()
        self.letter, self.place = nn.Embedding(vocab, d_model), nn.Embedding(places, d_model)
        self.blocks = nn.ModuleList(_FunctionBlock(d_model, heads) for _ in range(2))
        self.norm, self.logits = nn.LayerNorm(d_model), nn.Linear(d_model, vocab)

    def forward(self, ids: Tensor, attention: Callable[..., Tensor]) -> Tensor:
        """Return the logits of the next character: (B, T) -> (B, T, V)."""
        x = self.letter(ids) + self.place.weight[: ids.shape[1]]
        for layer in self.blocks:
            x = layer(x, attention)
        return self.logits(self.norm(x))


class _FunctionBlock(nn.Module):
    """Attention and a small network, each added to its input."""

    def __init__(self, d_model: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.project, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.network = _network(d_model)

    def forward(self, x: Tensor, attention: Callable[..., Tensor]) -> Tensor:
        """Return the tokens with what both parts add."""
        heads = self.project(self.norm1(x)).unflatten(-1, (3, self.heads, -1))
        context = attention(*heads.permute(2, 0, 3, 1, 4))  # (B, heads, T, d)
        x = x + self.out(context.transpose(1, 2).flatten(2))
        return x + self.network(self.norm2(x))


class LogitsOf(nn.Module):
    """Gives *model* further arguments, and returns its logits without its caches."""

    def __init__(self, model: nn.Module, *more: Any) -> None:
        super().__init__()
        self.model, self.more = model, more

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits of the next character."""
        result = self.model(ids, *self.more)
        return result[0] if isinstance(result, tuple) else result


def weights_per_head(attention: nn.Module, x: Tensor, heads: int) -> Tensor:
    """Return the weights of all heads of a learner's attention: (B, T, d_in) -> (B, heads, T, T).

    Each token in turn gets the value 1 in all its features, and the others get 0. Then the result
    of a head, before ``out_proj``, is its weight for that token.
    """
    columns = []
    for j in range(x.shape[1]):

        def badge(_layer: nn.Module, _given: Any, values: Tensor, j: int = j) -> Tensor:
            worn = torch.zeros_like(values)
            worn[:, j] = 1.0
            return worn

        with (
            attention.W_value.register_forward_hook(badge),
            attention.out_proj.register_forward_hook(lambda _layer, given, _mixed: given[0]),
        ):
            merged = attention(x)
        columns.append(merged[:, :, :: merged.shape[-1] // heads])  # a feature of each head
    return torch.stack(columns, dim=-1).permute(0, 2, 1, 3).detach()


def _take_network_away(block: nn.Module) -> None:
    """Set the result of the feed-forward network of *block* to zero, for ever."""
    for parameter in (block.ff.linear2.weight, block.ff.linear2.bias):
        nn.init.zeros_(parameter)
    for part in (block.ff, block.norm2):
        part.requires_grad_(False)


def _network(d_model: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model)
    )


def _rotations(length: int, d_model: int, heads: int) -> Tensor:
    """Return a matrix for each position that rotates pairs: (length, d_model, d_model)."""
    d = d_model // heads
    still = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        still[i + 1, i] = 10000.0 ** (-(i % d) / d)
    return torch.matrix_exp(torch.arange(float(length))[:, None, None] * (still - still.T))
