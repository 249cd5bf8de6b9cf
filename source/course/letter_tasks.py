"""Defines small tasks on letters, and trains a learner's attention on them in seconds.

A task draws random texts. It returns their tokens (B, T, d_in) and, for each token, the indices of
the letters that the model must find (B, T, n), or ``UNKNOWN`` if the token can't see them.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import Optimizer

LETTERS = "abcdef"
LENGTH = 6  # tokens in a text
UNKNOWN = -100  # a target that cross_entropy ignores
BATCH = 32  # texts for one step

Task = Callable[[int], tuple[Tensor, Tensor]]


def marked_letter(count: int) -> tuple[Tensor, Tensor]:
    """Draw texts in which one letter is marked: each token from there on must find this letter."""
    letters = torch.randint(len(LETTERS), (count, LENGTH))
    places = torch.randint(LENGTH, (count, 1))
    seen = torch.arange(LENGTH) >= places
    wanted = letters.gather(1, places).expand(-1, LENGTH)
    return marked_tokens(letters, places), wanted.where(seen, UNKNOWN)[..., None]


def marked_tokens(letters: Tensor, places: Tensor) -> Tensor:
    """Return tokens (B, T, 7): a 1 for the letter, and a 1 for the mark at *places* (B, 1)."""
    marks = torch.arange(letters.shape[1]) == places
    return torch.cat([_one_hot(letters), marks[..., None].float()], dim=-1)


def two_letters_before(count: int) -> tuple[Tensor, Tensor]:
    """Draw texts in which each token must find the letter before it, and the one before that."""
    letters = torch.randint(len(LETTERS), (count, LENGTH))
    wanted = torch.full((count, LENGTH, 2), UNKNOWN)
    wanted[:, 1:, 0] = letters[:, :-1]
    wanted[:, 2:, 1] = letters[:, :-2]
    return placed_tokens(letters), wanted


def placed_tokens(letters: Tensor) -> Tensor:
    """Return tokens (B, T, 12): a 1 for the letter, and a 1 for the position."""
    places = torch.eye(LENGTH)[: letters.shape[1]].expand(len(letters), -1, -1)
    return torch.cat([_one_hot(letters), places], dim=-1)


def numbers_of(text: str) -> Tensor:
    """Return the indices (1, T) of the first letters of *text* that are in ``LETTERS``."""
    found = [LETTERS.index(letter) for letter in text.lower() if letter in LETTERS][:LENGTH]
    return torch.tensor([found or [0]])


def train(model: nn.Module, task: Task, steps: int) -> list[float]:
    """Train *model* on *task*; return the loss of each step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    return [_step(model, optimizer, *task(BATCH)) for _ in range(steps)]


def _step(model: nn.Module, optimizer: Optimizer, tokens: Tensor, wanted: Tensor) -> float:
    """Make one step of the training, and return the loss before it."""
    scores = _scores(model, tokens, wanted)
    entropy = functional.cross_entropy(scores.flatten(0, -2), wanted.flatten())
    optimizer.zero_grad()
    entropy.backward()
    optimizer.step()
    return entropy.item()


@torch.no_grad()
def share_right(model: nn.Module, task: Task) -> float:
    """Return the share of letters that *model* finds in 1000 new texts."""
    tokens, wanted = task(1000)
    predicted = _scores(model, tokens, wanted).argmax(dim=-1)
    return (predicted == wanted)[wanted != UNKNOWN].float().mean().item()


def _scores(model: nn.Module, tokens: Tensor, wanted: Tensor) -> Tensor:
    """Return the model's result, reshaped to a score for each letter (B, T, n, 6)."""
    result: Tensor = model(tokens)
    return result.reshape(*result.shape[:-1], wanted.shape[-1], len(LETTERS))


def _one_hot(letters: Tensor) -> Tensor:
    return functional.one_hot(letters, len(LETTERS)).float()
