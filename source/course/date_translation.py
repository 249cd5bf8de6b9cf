"""Draws dates as people write them, with ISO dates, and trains a learner's Translator on them.

*parts* is the learner's module of stage 19. A pair is a written date and its ISO date, both texts.
Characters are ids: 0 is the padding, 1 the start, 2 the end. Held-out dates are never trained on.
"""

import calendar
import datetime as dt
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

MONTHS = tuple(name.lower() for name in calendar.month_name[1:])
FORMS = (
    "{month} {d} {y}",
    "{d} {month} {y}",
    "{d}.{m}.{y}",
    "the {th} of {month}, {y}",
    "{month} {th}, {y}",
    "{short} {d}, {y}",
    "{d} {short} {y}",
    "{y}/{m}/{d}",
    "{weekday}, {month} {d}, {y}",
)
PADDING, START, END = 0, 1, 2
FIRST_ID = 3  # of a character
SOURCE_LETTERS = " ,./0123456789abcdefghijklmnopqrstuvwxyz"
TARGET_LETTERS = "-0123456789"
SOURCE_VOCAB, TARGET_VOCAB = FIRST_ID + len(SOURCE_LETTERS), FIRST_ID + len(TARGET_LETTERS)
LONGEST_SOURCE = 32  # "wednesday, september 30, 2029" has 29 characters
LONGEST_TARGET = 11  # an ISO date has ten, and there is one for the start or the end
YEARS = (1800, 2029)  # the first and the last one
# Pairs of month and day that are never trained on, in any year.
RARE = frozenset(
    {(1, 31), (2, 14), (3, 8), (5, 23), (7, 4), (8, 19), (9, 9), (11, 27), (12, 1)},
)
ONE_IN = 10  # of the other days, so many are held out
EVERY = 20  # steps between two points of a curve
ALL_FORMS = tuple(range(len(FORMS)))
Pairs = list[tuple[str, str]]


@dataclass
class Trained:
    """A trained *model*, its *losses* in each step, and whether sources are *backwards*.

    *curves* are steps, with the loss of each one's batch and that of held-out dates before it.
    """

    model: nn.Module
    losses: list[float] = field(default_factory=list)
    backwards: bool = False
    curves: tuple[list[float], ...] = field(default_factory=lambda: ([], [], []))


def written(date: dt.date, form: int) -> str:
    """Return *date* in the form of this number, such as "march 5th, 1921"."""
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if 10 < date.day < 14 else endings.get(date.day % 10, "th")
    month = MONTHS[date.month - 1]
    weekday = calendar.day_name[date.weekday()].lower()
    return FORMS[form].format(
        d=date.day,
        m=date.month,
        y=date.year,
        th=f"{date.day}{ending}",
        month=month,
        short=month[:3],
        weekday=weekday,
    )


def is_rare(date: dt.date) -> bool:
    """Whether day and month are one of the nine pairs that no training has."""
    return (date.month, date.day) in RARE


def is_held_out(date: dt.date) -> bool:
    """Whether *date* is one day in ten that no training has, but its day and month are trained."""
    return date.toordinal() % ONE_IN == 0 and not is_rare(date)


def is_trained(date: dt.date) -> bool:
    """Whether a training may draw *date*."""
    return not is_held_out(date) and not is_rare(date)


def drawing(seed: int) -> random.Random:
    """Return a source of random numbers."""
    return random.Random(seed)  # noqa: S311  # it draws dates, and no secrets


def draw(
    rng: random.Random,
    count: int,
    accept: Callable[[dt.date], bool] = is_trained,
    forms: Sequence[int] = ALL_FORMS,
    years: tuple[int, int] = YEARS,
) -> Pairs:
    """Draw *count* pairs of dates that *accept* takes, in one of the *forms* each."""
    first, last = dt.date(years[0], 1, 1), dt.date(years[1], 12, 31)
    pairs: Pairs = []
    while len(pairs) < count:
        date = dt.date.fromordinal(rng.randint(first.toordinal(), last.toordinal()))
        if accept(date):
            pairs.append((written(date, rng.choice(forms)), date.isoformat()))
    return pairs


def held_out_dates(count: int = 500, accept: Callable[[dt.date], bool] = is_held_out) -> Pairs:
    """Return the same held-out pairs in every call."""
    return draw(drawing(99), count, accept)


def ids_of(text: str, letters: str) -> list[int]:
    """Return the ids of the characters of *text* that are in *letters*."""
    return [FIRST_ID + letters.index(letter) for letter in text if letter in letters]


def text_of(ids: Sequence[int]) -> str:
    """Return the ISO characters of *ids* up to the end; "?" is a padding or a start."""
    known = ids[: ids.index(END)] if END in ids else ids
    return "".join(TARGET_LETTERS[one - FIRST_ID] if one >= FIRST_ID else "?" for one in known)


def sources(parts: Any, texts: Sequence[str], *, backwards: bool = False) -> tuple[Tensor, Tensor]:
    """Return ids (B, T) and mask (B, T) of written dates, by the learner's pad_batch."""
    turned = [text[::-1] if backwards else text for text in texts]
    return parts.pad_batch([ids_of(text, SOURCE_LETTERS) for text in turned], PADDING)


def new_model(parts: Any, seed: int = 0) -> nn.Module:
    """Build an untrained Translator of 71,294 parameters for dates."""
    torch.manual_seed(seed)
    sizes = (SOURCE_VOCAB, TARGET_VOCAB, LONGEST_SOURCE, LONGEST_TARGET)
    return parts.Translator(*sizes, 48, 4)


class _Open(nn.Module):
    """Runs an attention without its mask."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, x: Tensor, memory: Tensor, _visible: Tensor | None = None) -> Tensor:
        """Let every token see all tokens."""
        return self.attention(x, memory)


class _Blind(nn.Module):
    """Reads nothing from the memory."""

    def forward(self, x: Tensor, _memory: Tensor, _visible: Tensor | None = None) -> Tensor:
        """Return zeros."""
        return torch.zeros_like(x)


def _see_the_future(model: Any) -> None:
    for block in model.decoder:
        block.self_att = _Open(block.self_att)


def _forget_the_source(model: Any) -> None:
    for block in model.decoder:
        block.cross_att = _Blind()


def _drop_positions(model: Any) -> None:
    zeros = torch.zeros_like(model.source_pos.weight)
    model.source_pos = nn.Embedding.from_pretrained(zeros, freeze=True)


# What a lab may take away from a model before the training.
WITHOUT = MappingProxyType(
    {
        "nothing": lambda _model: None,
        "the mask over the future": _see_the_future,
        "attention to the memory": _forget_the_source,
        "positions of the source": _drop_positions,
    }
)


def train(
    parts: Any,
    steps: int,
    *,
    seed: int = 0,
    without: str = "nothing",
    smoothing: float = 0.1,
    backwards: bool = False,
    forms: Sequence[int] = ALL_FORMS,
) -> Trained:
    """Train a new model for so many *steps* of 64 new dates, with Adam.

    The rate rises to 0.008 in 50 steps, and falls on a line to a tenth of it. *without* is a key of
    ``WITHOUT``. With *backwards*, the sources are written from their end to their beginning.
    """
    rng, found = drawing(seed), Trained(new_model(parts, seed), backwards=backwards)
    WITHOUT[without](found.model)
    held_out = draw(drawing(99), 64, is_held_out, forms)
    optimizer = torch.optim.Adam(found.model.parameters(), betas=(0.9, 0.98))
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = 0.008 * min(1, step / 50) * (1 - 0.9 * step / steps)
        cost = loss_of(parts, found, draw(rng, 64, forms=forms), smoothing)
        if step in {1, steps} or step % EVERY == 0:
            with torch.inference_mode():
                held = loss_of(parts, found, held_out, smoothing)
            for kept, one in zip(found.curves, (step, cost.item(), held.item()), strict=True):
                kept.append(one)
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
        found.losses.append(cost.item())
    return found


def loss_of(parts: Any, trained: Trained, pairs: Pairs, smoothing: float) -> Tensor:
    """Return the learner's smoothed loss of the model's predictions for *pairs*."""
    source, mask = sources(parts, [text for text, _ in pairs], backwards=trained.backwards)
    inputs, wanted = forced(parts, pairs)
    logits = trained.model(source, inputs, mask)
    return parts.smoothed_cross_entropy(logits, wanted, smoothing, PADDING)


def forced(parts: Any, pairs: Pairs) -> tuple[Tensor, Tensor]:
    """Return the decoder's inputs and targets, (B, T), by the learner's teacher_forcing."""
    dates = [ids_of(iso, TARGET_LETTERS) for _, iso in pairs]
    return parts.teacher_forcing(dates, START, END, PADDING)


def translate(
    parts: Any, trained: Trained, texts: Sequence[str], *, with_mask: bool = True
) -> list[str]:
    """Return the dates that the learner's greedy_translate writes for *texts*."""
    source, mask = sources(parts, texts, backwards=trained.backwards)
    given = (
        trained.model,
        source,
        mask if with_mask else None,
        START,
        END,
        LONGEST_TARGET,
        PADDING,
    )
    return [text_of(row) for row in parts.greedy_translate(*given).tolist()]


def right(parts: Any, trained: Trained, pairs: Pairs, *, with_mask: bool = True) -> float:
    """Return the share of *pairs* of which all ten characters are right."""
    found = translate(parts, trained, [text for text, _ in pairs], with_mask=with_mask)
    return sum(one == iso for one, (_, iso) in zip(found, pairs, strict=True)) / len(pairs)


def right_fields(parts: Any, trained: Trained, pairs: Pairs) -> dict[str, float]:
    """Return the share of *pairs* whose year, month or day is right."""
    found = translate(parts, trained, [text for text, _ in pairs])
    places = {"year": slice(4), "month": slice(5, 7), "day": slice(8, 10)}
    return {
        name: sum(one[at] == iso[at] for one, (_, iso) in zip(found, pairs, strict=True))
        / len(pairs)
        for name, at in places.items()
    }


def forced_right(parts: Any, trained: Trained, pairs: Pairs) -> float:
    """Return the share of characters that are right if the decoder reads the right ones before."""
    source, mask = sources(parts, [text for text, _ in pairs], backwards=trained.backwards)
    inputs, wanted = forced(parts, pairs)
    with torch.inference_mode():
        logits = trained.model(source, inputs, mask)
    return (logits.argmax(dim=-1) == wanted).float().mean().item()


def alignment(parts: Any, trained: Trained, text: str) -> tuple[Tensor, str]:
    """Return the weights (H, T, T_s) with which the model reads *text*, and what it writes."""
    (iso,) = translate(parts, trained, [text])
    kept: dict[str, Tensor] = {}
    attention: Any = trained.model.decoder[-1].cross_att
    hooks = [
        getattr(attention, name).register_forward_hook(
            lambda _layer, _given, result, name=name: kept.update({name: result[0]})
        )
        for name in ("W_query", "W_key")
    ]
    source, _ = sources(parts, [text], backwards=trained.backwards)
    inputs = torch.tensor([[START, *ids_of(iso, TARGET_LETTERS)][: max(1, len(iso))]])
    with torch.inference_mode():
        trained.model(source, inputs)
    for each in hooks:
        each.remove()
    heads = {name: one.unflatten(-1, (4, -1)).movedim(1, 0) for name, one in kept.items()}
    size = heads["W_query"].shape[-1]
    weights = (heads["W_query"] @ heads["W_key"].mT / size**0.5).softmax(dim=-1)
    return (weights.flip(-1) if trained.backwards else weights), iso
