"""Defines small tasks on letters, and trains a learner's attention on them in seconds.

A task draws random texts. It returns their tokens (B, T, d_in) and, for each token, the indices of
the letters that the model must find (B, T, n), or ``UNKNOWN`` if the token can't see them. Texts
are held out by a fixed rule, so that a held-out text is never drawn for a training.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

LETTERS = "abcdef"
LENGTH = 6  # tokens in a text
UNKNOWN = -100  # a target that cross_entropy ignores
BATCH = 32  # texts for one step
MEASURED = 500  # texts for one measurement
PAIRS, PAIR_LETTERS = 6, 16  # of the task of pairs
ONE_IN = 5  # about one text of pairs in five is held out

Task = Callable[[int, bool], tuple[Tensor, Tensor]]


class Curves(NamedTuple):
    """The loss after some *steps*, and the share of *right* letters in held-out texts."""

    steps: list[int]
    train: list[float]
    held: list[float]
    right: list[float]


def draw_letters(count: int, held: bool = False) -> Tensor:
    """Draw texts of six letters, (count, 6). The letters of a held-out text add up to 0, modulo 6.

    One text in six is held out: the last letter follows from the others.
    """
    letters = torch.randint(len(LETTERS), (count, LENGTH))
    more = 0 if held else torch.randint(1, len(LETTERS), (count,))
    letters[:, -1] = (more - letters[:, :-1].sum(dim=1)) % len(LETTERS)
    return letters


def marked_letter(count: int, held: bool = False) -> tuple[Tensor, Tensor]:
    """Draw texts in which one letter is marked: each token from there on must find this letter."""
    letters = draw_letters(count, held)
    places = torch.randint(LENGTH, (count, 1))
    seen = torch.arange(LENGTH) >= places
    wanted = letters.gather(1, places).expand(-1, LENGTH)
    return marked_tokens(letters, places), wanted.where(seen, UNKNOWN)[..., None]


def marked_tokens(letters: Tensor, places: Tensor) -> Tensor:
    """Return tokens (B, T, 7): a 1 for the letter, and a 1 for the mark at *places* (B, 1)."""
    marks = torch.arange(letters.shape[1]) == places
    return torch.cat([_one_hot(letters), marks[..., None].float()], dim=-1)


def two_letters_before(count: int, held: bool = False) -> tuple[Tensor, Tensor]:
    """Draw texts in which each token must find the letter before it, and the one before that."""
    letters = draw_letters(count, held)
    wanted = torch.full((count, LENGTH, 2), UNKNOWN)
    wanted[:, 1:, 0] = letters[:, :-1]
    wanted[:, 2:, 1] = letters[:, :-2]
    return placed_tokens(letters), wanted


def pairs(count: int, held: bool = False) -> tuple[Tensor, Tensor]:
    """Draw texts of six pairs of different letters, and then six times one of these pairs again.

    The ids are (count, 23), of letters from a to p. The model must find the second letter of each
    repeated pair; the last of them comes after the text. In held-out texts the numbers of the first
    two letters add up to a multiple of five.
    """
    drawn = torch.rand(2 * ONE_IN * count + 50, PAIR_LETTERS).argsort(dim=1)[:, : 2 * PAIRS]
    is_held = drawn[:, :2].sum(dim=1) % ONE_IN == 0
    first = drawn[is_held == held][:count]
    asked = torch.randint(PAIRS, (count, PAIRS))
    again = first.view(count, PAIRS, 2).gather(1, asked[..., None].expand(-1, -1, 2))
    text = torch.cat((first, again.flatten(1)), dim=1)
    wanted = text[:, 1:].clone()
    wanted[:, : 2 * PAIRS] = UNKNOWN
    wanted[:, 2 * PAIRS + 1 :: 2] = UNKNOWN  # a first letter can't be known
    return text[:, :-1], wanted[..., None]


def placed_tokens(letters: Tensor) -> Tensor:
    """Return tokens (B, T, 12): a 1 for the letter, and a 1 for the position."""
    places = torch.eye(LENGTH)[: letters.shape[1]].expand(len(letters), -1, -1)
    return torch.cat([_one_hot(letters), places], dim=-1)


def numbers_of(text: str) -> Tensor:
    """Return the indices (1, T) of the first letters of *text* that are in ``LETTERS``."""
    found = [LETTERS.index(letter) for letter in text.lower() if letter in LETTERS][:LENGTH]
    return torch.tensor([found or [0]])


def train(
    model: nn.Module,
    task: Task,
    steps: int,
    rate: float = 0.03,
    marks: Sequence[int] = (),
    batch: int = BATCH,
    warmup: int = 0,
) -> Curves:
    """Train *model* on *task* with Adam, on *batch* new texts in each step.

    It is measured after the steps in *marks*, by default ten. With *warmup*, the rate rises for so
    many steps, and then falls to 0.
    """
    optimizer = torch.optim.Adam([one for one in model.parameters() if one.requires_grad], lr=rate)
    rates = LambdaLR(optimizer, lambda step: _share_of_rate(step, steps, warmup))
    chosen = {0, steps, *(marks or [round(steps * tenth / 10) for tenth in range(10)])}
    curves = Curves([], [], [], [])
    for step in range(steps + 1):
        if step in chosen:
            curves.steps.append(step)
            curves.train.append(_measured(model, task, held=False)[0])
            for curve, one in zip(curves[2:], _measured(model, task, held=True), strict=True):
                curve.append(one)
        if step < steps:
            _step(model, optimizer, *task(batch, False))
            rates.step()
    return curves


def _share_of_rate(step: int, steps: int, warmup: int) -> float:
    """Return the share of the rate at a step; without *warmup* it is always 1."""
    if not warmup:
        return 1.0
    return min(1.0, (step + 1) / warmup) if step <= warmup else (steps - step) / steps


def _step(model: nn.Module, optimizer: Optimizer, tokens: Tensor, wanted: Tensor) -> None:
    """Make one step of the training."""
    entropy = functional.cross_entropy(
        _scores(model, tokens, wanted).flatten(0, -2), wanted.flatten()
    )
    optimizer.zero_grad()
    entropy.backward()
    optimizer.step()


@torch.no_grad()
def _measured(model: nn.Module, task: Task, held: bool) -> tuple[float, float]:
    """Return the loss and the share of right letters, always on the same texts."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        tokens, wanted = task(MEASURED, held)
    scores = _scores(model, tokens, wanted)
    entropy = functional.cross_entropy(scores.flatten(0, -2), wanted.flatten())
    found = (scores.argmax(dim=-1) == wanted)[wanted != UNKNOWN]
    return entropy.item(), found.float().mean().item()


def share_right(model: nn.Module, task: Task) -> float:
    """Return the share of letters that *model* finds in held-out texts."""
    return _measured(model, task, held=True)[1]


def _scores(model: nn.Module, tokens: Tensor, wanted: Tensor) -> Tensor:
    """Return the model's result, reshaped to a score for each letter (B, T, n, letters)."""
    result: Tensor = model(tokens)
    return result.reshape(*result.shape[:-1], wanted.shape[-1], -1)


def _one_hot(letters: Tensor) -> Tensor:
    return functional.one_hot(letters, len(LETTERS)).float()
