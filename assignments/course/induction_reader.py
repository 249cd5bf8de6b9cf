"""Defines the two-layer model of stage 20, with places for hooks, and what its lab measures."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from . import letter_tasks as tasks

KEYS = torch.arange(0, 2 * tasks.PAIRS, 2)  # the positions of the first letters of the pairs
VALUES = KEYS + 1  # and of their second letters
ASKED = KEYS + 2 * tasks.PAIRS  # the positions of the keys that come again
SHORT = 2 * tasks.PAIRS + 1  # letters of a text that asks for one pair


class Layer(nn.Module):
    """Causal attention with a norm before it and a shortcut around it, (B, T, d_model)."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.H = num_heads
        self.norm = nn.LayerNorm(d_model)
        self.query, self.key, self.value = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(3)
        )
        self.out_proj = nn.Linear(in_features=d_model, out_features=d_model)
        self.weights = nn.Identity()  # the weights (B, H, T, T) pass through it
        self.heads = nn.Identity()  # the merged heads (B, T, d_model) pass through it

    def forward(self, x: Tensor) -> Tensor:
        """Return the stream with what the heads add."""
        y = self.norm(x)
        q, k, v = (self._split(layer(y)) for layer in (self.query, self.key, self.value))
        future = torch.ones(y.shape[1], y.shape[1], dtype=torch.bool).triu(1)
        hidden = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(future, -torch.inf)
        shares = self.weights(hidden.softmax(-1))
        return x + self.out_proj(self.heads((shares @ v).transpose(1, 2).flatten(2)))

    def _split(self, features: Tensor) -> Tensor:
        return features.unflatten(-1, (self.H, -1)).transpose(1, 2)


class InductionReader(nn.Module):
    """Predicts the next letter of a text of pairs: ids (B, T) -> logits (B, T, 16)."""

    def __init__(self, layers: int = 2, num_heads: int = 1, d_model: int = 32) -> None:
        super().__init__()
        self.letter = nn.Embedding(tasks.PAIR_LETTERS, d_model)
        self.position = nn.Embedding(4 * tasks.PAIRS, d_model)
        self.embedded = nn.Identity()  # the embeddings (B, T, d_model) pass through it
        self.layers = nn.ModuleList(Layer(d_model, num_heads) for _ in range(layers))
        self.last_norm = nn.LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, tasks.PAIR_LETTERS, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits of the next letter."""
        x = self.embedded(self.letter(ids) + self.position.weight[: ids.shape[1]])
        for attention in self.layers:
            x = attention(x)
        return self.out_head(self.last_norm(x))


class Asked(NamedTuple):
    """Held-out texts (B, 23), and the right answers (B, 6) at the positions ``ASKED``."""

    texts: Tensor
    answers: Tensor

    def right(self, logits: Tensor) -> float:
        """Return the share of right answers."""
        return (logits[:, ASKED].argmax(-1) == self.answers).float().mean().item()

    def guessed(self, logits: Tensor) -> dict[str, float]:
        """Return the shares of answers that are one of the values, one of the keys, or neither."""
        answers = logits[:, ASKED].argmax(-1)[..., None]
        values, keys = (
            (answers == self.texts[:, None, places]).any(-1).float().mean().item()
            for places in (VALUES, KEYS)
        )
        return {"a value": values, "a key": keys, "not in the text": 1 - values - keys}


def held_texts(count: int = 1000) -> Asked:
    """Draw held-out texts, always the same."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(100)
        texts, wanted = tasks.pairs(count, True)
    return Asked(texts, wanted[:, ASKED, 0])


def trained(
    seed: int, steps: int, layers: int = 2, num_heads: int = 1, rate: float = 0.01
) -> tuple[InductionReader, tasks.Curves]:
    """Train a reader for *steps* on texts of pairs; return it with its curves."""
    torch.manual_seed(seed)
    model = InductionReader(layers, num_heads)
    marks = [round(steps * share) for share in (0.06, 0.12, 0.25, 0.33, 0.42, 0.5, 0.75)]
    curves = tasks.train(model, tasks.pairs, steps, rate, marks, batch=64, warmup=50)
    return model, curves


def previous_token(length: int) -> Tensor:
    """Return weights (length, length) for the token before; the first token attends to itself."""
    return torch.eye(length)[[0, *range(length - 1)]]


def advantages(model: InductionReader, asked: Asked) -> Tensor:
    """Return directions (B, 6, d_model): the right value against the mean of the other five."""
    rows = model.out_head.weight.detach()
    good, values = rows[asked.answers], rows[asked.texts[:, VALUES]]
    others = (values.sum(1, keepdim=True) - good) / (tasks.PAIRS - 1)
    return good - others


def swapped_keys(asked: Asked, one: int = 2, other: int = 8) -> tuple[Tensor, ...]:
    """Return texts of 13 letters that ask for a pair, clean and corrupted, and both answers.

    The clean text asks for the key at position *one*. In the corrupted text this key and the one at
    *other* have changed places.
    """
    clean = asked.texts[:200, :SHORT].clone()
    clean[:, -1] = clean[:, one]
    corrupted = clean.clone()
    corrupted[:, one], corrupted[:, other] = clean[:, other], clean[:, one]
    return clean, corrupted, clean[:, one + 1], clean[:, other + 1]


def letters_of(ids: Tensor) -> list[str]:
    """Return the letters of a text (T,)."""
    return [chr(ord("a") + number) for number in ids.tolist()]


def weights_of(activations: dict[str, Tensor]) -> list[Tensor]:
    """Return the recorded weights of the first head of both layers: two tensors (B, T, T)."""
    return [activations[f"layers.{layer}.weights"][:, 0] for layer in (0, 1)]
