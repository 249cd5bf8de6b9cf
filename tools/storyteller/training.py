"""Trains the storyteller on stories: a GPT with the parameter names of the course's last exercise.

It uses torch's fused functions, which compute the same as the course's in a third of the time.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

WARM_UP: Final = 200  # steps
FLOOR: Final = 0.02  # the last learning rate as a share of the highest
DECAY: Final = 0.1  # of matrices only
LARGEST_NORM: Final = 1.0  # of the gradient
BEFORE: Final = 32  # characters that are read before the loss of a character counts
EMBEDDING_SCALE: Final = 0.3  # so that positions are not lost in the first embeddings


@dataclass(frozen=True)
class Size:
    """The sizes of the model: symbols, window, features, heads and layers."""

    symbols: int
    window: int = 96
    features: int = 56
    heads: int = 4
    layers: int = 3


@dataclass(frozen=True)
class Run:
    """The length of a training, its batches and its highest learning rate."""

    steps: int = 11_000
    batch: int = 8
    rate: float = 8e-3


class Norm(nn.Module):
    """A layer norm with the parameter names of the course."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(features))
        self.shift = nn.Parameter(torch.zeros(features))

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        return functional.layer_norm(x, (x.shape[-1],), self.scale, self.shift)


class Attention(nn.Module):
    """Causal attention with several heads."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.W_query, self.W_key, self.W_value = (
            nn.Linear(size.features, size.features, bias=False) for _ in range(3)
        )
        self.out_proj = nn.Linear(size.features, size.features)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        batch, length, features = x.shape
        weight = torch.cat((self.W_query.weight, self.W_key.weight, self.W_value.weight))
        parts = functional.linear(x, weight).view(batch, length, 3, self.heads, -1)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)  # (B, H, T, d) each
        context = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        mixed: Tensor = self.out_proj(context.transpose(1, 2).reshape(batch, length, features))
        return mixed


class FeedForward(nn.Module):
    """Two layers with GELU between them."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.linear1 = nn.Linear(features, 4 * features)
        self.linear2 = nn.Linear(4 * features, features)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        result: Tensor = self.linear2(functional.gelu(self.linear1(x), approximate="tanh"))
        return result


class Block(nn.Module):
    """A pre-norm block."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.att, self.norm1 = Attention(size), Norm(size.features)
        self.ff, self.norm2 = FeedForward(size.features), Norm(size.features)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        mixed: Tensor = x + self.att(self.norm1(x))
        result: Tensor = mixed + self.ff(self.norm2(mixed))
        return result


class Model(nn.Module):
    """The GPT; its positions are a fixed table of sines, which is not stored."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.size = size
        self.tok_emb = nn.Embedding(size.symbols, size.features)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.layers))
        self.final_norm = Norm(size.features)
        self.out_head = nn.Linear(size.features, size.symbols, bias=False)
        self.register_buffer("positions", sines(size.window, size.features), persistent=False)
        with torch.no_grad():
            self.tok_emb.weight.mul_(EMBEDDING_SCALE)

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) -> logits (B, T, V)."""
        x = self.tok_emb(ids) + self.get_buffer("positions")[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.out_head(self.final_norm(x))
        return logits


def sines(length: int, features: int) -> Tensor:
    """Return the table of the paper's section 3.5: sines in even columns, cosines in odd ones."""
    angles = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, features, 2) / features)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


def encode(text: str, symbols: str) -> Tensor:
    """Return the numbers of the characters."""
    return torch.tensor([symbols.index(one) for one in text])


def held_out_loss(model: Model, ids: Tensor) -> float:
    """Return the mean loss in nats of characters with at least ``BEFORE`` characters before."""
    window = model.size.window
    pieces = ids.unfold(0, window + 1, window - BEFORE)
    with torch.no_grad():
        logits = model(pieces[:, :-1]).transpose(1, 2)
        losses = functional.cross_entropy(logits, pieces[:, 1:], reduction="none")
    return losses[:, BEFORE:].mean().item()


def train(model: Model, ids: Tensor, run: Run, report: Callable[[int, float, float], None]) -> None:
    """Train *model* with AdamW, a warm-up and a cosine; report step, loss and seconds."""
    matrices = [one for one in model.parameters() if one.dim() > 1]
    vectors = [one for one in model.parameters() if one.dim() < 2]  # noqa: PLR2004  # no matrix
    groups = [
        {"params": matrices, "weight_decay": DECAY},
        {"params": vectors, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=run.rate, betas=(0.9, 0.99), foreach=True)
    window, began, losses = model.size.window, time.process_time(), 0.0
    every = max(1, run.steps // 10)
    for step in range(run.steps):
        for group in optimizer.param_groups:
            group["lr"] = run.rate * _rate(step, run.steps)
        starts = torch.randint(len(ids) - window, (run.batch,))
        pieces = ids[starts[:, None] + torch.arange(window + 1)]
        logits = model(pieces[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), pieces[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), LARGEST_NORM)
        optimizer.step()
        losses += loss.item()
        if (step + 1) % every == 0:
            report(step + 1, losses / every, time.process_time() - began)
            losses = 0.0


def rounded(weights: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """Return matrices as int8 with a float32 scale for each row, and vectors as float16."""
    stored: dict[str, np.ndarray] = {}
    for name, tensor in weights.items():
        array = tensor.detach().numpy()
        if array.ndim == 1:
            stored[name] = array.astype(np.float16)
            continue
        scale = (np.abs(array).max(axis=1, keepdims=True) / 127).astype(np.float32)
        stored[name] = np.round(array / scale).astype(np.int8)
        stored[f"{name}/scale"] = scale
    return stored


def unrounded(stored: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Return the weights that ``rounded`` has stored."""
    return {
        name: torch.from_numpy(array.astype(np.float32) * stored.get(f"{name}/scale", 1))
        for name, array in stored.items()
        if not name.endswith("/scale")
    }


def _rate(step: int, steps: int) -> float:
    """Return the learning rate of *step* as a share of the highest."""
    cosine = 0.5 * (1 + math.cos(math.pi * step / steps))
    return min(1, (step + 1) / WARM_UP) * (FLOOR + (1 - FLOOR) * cosine)
