"""General readings: what can be said about a wrong tensor that no known mistake explains.

Each reading is a small function of the answer and what was expected; it returns a sentence or
nothing, and rather nothing than a guess. No sentence holds a value of a hidden input.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

CLOSE = 1e-4  # as tight as a check compares, relative to values of order one
SEEDS = (0, 1, 42, 123, 789, 1337)  # those of the documents, and what people type
MIN_EVIDENCE = 4  # entries; fewer could agree by chance


class Reading(NamedTuple):
    """What a wrong tensor looks like: a short name, a sentence, a question."""

    name: str
    sentence: str
    question: str


Reader = Callable[[Tensor, Tensor, Sequence[str]], Reading | None]


def read(answer: object, expected: object, axes: Sequence[str] = ()) -> Reading | None:
    """Say what *answer* looks like beside *expected*; *axes* names the expected axes."""
    if not isinstance(answer, Tensor) or not isinstance(expected, Tensor):
        return None
    mine, wanted = answer.detach(), expected.detach()
    names = list(axes) if len(axes) == wanted.ndim else [f"{n}" for n in range(wanted.ndim)]
    if mine.shape != wanted.shape:
        return read_shape(tuple(mine.shape), tuple(wanted.shape), names)
    if mine.dtype != wanted.dtype or not wanted.is_floating_point():
        return None
    readers = READERS if mine.isfinite().all() else (not_a_number,)
    return next((found for reader in readers if (found := reader(mine, wanted, names))), None)


def read_shape(
    mine: tuple[int, ...], wanted: tuple[int, ...], names: Sequence[str]
) -> Reading | None:
    """Name the axis that is missing, extra, swapped, or of the wrong size."""
    question = "Which axis should each step keep, and which should it sum over?"
    for axis, name in enumerate(names):
        if mine == wanted[:axis] + wanted[axis + 1 :]:
            return Reading("axis_missing", f"The axis {name} is missing.", question)
    for axis in range(len(mine)):
        if mine[:axis] + mine[axis + 1 :] == wanted:
            return Reading("axis_extra", f"There is one axis too many, the {_nth(axis)}.", question)
    if len(mine) != len(wanted):
        return None
    for left, right in itertools.combinations(range(len(wanted)), 2):
        swapped = list(wanted)
        swapped[left], swapped[right] = swapped[right], swapped[left]
        if mine == tuple(swapped):
            sentence = f"The axes {names[left]} and {names[right]} are swapped."
            return Reading("axes_swapped", sentence, "Rows are queries: who stands in which row?")
    wrong = [name for name, mine_, want in zip(names, mine, wanted, strict=True) if mine_ != want]
    if len(wrong) == 1:
        sentence = f"The axis {wrong[0]} has another size than the exercise asks for."
        return Reading("axis_size", sentence, question)
    return None


def not_a_number(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> Reading | None:
    """Say in which rows NaN or infinity stands."""
    del names
    strange = ~mine.isfinite() & wanted.isfinite()
    if mine.ndim < 2 or not strange.any():  # noqa: PLR2004  # a vector has no rows
        return None
    rows = strange.any(-1).reshape(-1, mine.shape[-2])
    if rows[:, 0].any() and not rows[:, 1:].any():
        sentence = "Only the first row is NaN: its query sees nothing at all."
        return Reading("nan_first_row", sentence, "May a token look at itself?")
    if rows[:, -1].any() and not rows[:, :-1].any():
        sentence = "Only the last row is NaN: its query sees nothing at all."
        return Reading("nan_last_row", sentence, "Which entries does the mask hide, and which not?")
    if rows.all():
        sentence = "Every row is NaN."
        question = "Does something multiply 0 by infinity, or divide infinity by infinity?"
        return Reading("nan_everywhere", sentence, question)
    return None


def transposed(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> Reading | None:
    """See the right numbers with rows and columns exchanged."""
    del names
    if mine.ndim < 2 or mine.shape[-1] != mine.shape[-2]:  # noqa: PLR2004  # a vector has no transpose
        return None
    if not _close(mine.mT, wanted) or _close(mine, wanted):
        return None
    sentence = "These are the right numbers, transposed: rows and columns are exchanged."
    return Reading(
        "transposed", sentence, "Row i belongs to token i as the query. Whose rows are yours?"
    )


def constant_factor(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> Reading | None:
    """See the right numbers times one constant, and name it if it is a size or a root of one."""
    if mine.numel() < MIN_EVIDENCE or float(wanted.abs().max()) < CLOSE:
        return None
    factor = float((mine * wanted).sum() / (wanted * wanted).sum())
    if abs(factor - 1) < CLOSE or abs(factor) < CLOSE or not _close(mine, wanted * factor):
        return None
    named = _named_factor(factor, wanted.shape, names)
    sentence = f"Every entry is the right one times {named or f'{factor:.4f}'}."
    return Reading("constant_factor", sentence, "Where is the scale applied, and how often?")


def columns_sum_to_one(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> Reading | None:
    """See weights normalised over the queries instead of the keys."""
    del names
    if mine.ndim < 2 or not _ones(wanted.sum(-1)) or _ones(mine.sum(-1)):  # noqa: PLR2004  # rows and columns
        return None
    if _ones(mine.sum(-2)):
        sentence = "Your columns sum to one, your rows don't."
        return Reading(
            "columns_sum_to_one",
            sentence,
            "Over which axis must the weights of one query sum to one?",
        )
    if mine.ndim > 2 and _ones(mine.sum(0)):  # noqa: PLR2004  # a batch or heads in front
        sentence = "Your weights sum to one over the first axis."
        return Reading("first_axis_sums_to_one", sentence, "Which axis holds the keys?")
    if _ones(mine.sum((-2, -1))):
        sentence = "Your whole matrix sums to one, not each of its rows."
        return Reading(
            "matrix_sums_to_one", sentence, "How many queries share one distribution here?"
        )
    return None


def rows_do_not_sum_to_one(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> Reading | None:
    """See weights that were not normalised, or were changed afterwards."""
    del names
    if not mine.ndim or not _ones(wanted.sum(-1)) or _ones(mine.sum(-1)):
        return None
    if (mine < 0).any():
        sentence = (
            "Some weights are negative: these are scores, or something else was done to them."
        )
        return Reading(
            "negative_weights",
            sentence,
            "Which function turns any scores into positive shares of one?",
        )
    sentence = "Your rows don't sum to one."
    return Reading(
        "rows_not_normalised",
        sentence,
        "What happens to the weights after they are normalised, or before?",
    )


def future_leaks(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> Reading | None:
    """See a weight above the diagonal where there must be none."""
    del names
    if mine.ndim < 2 or mine.shape[-1] != mine.shape[-2]:  # noqa: PLR2004  # a matrix of weights
        return None
    above = torch.ones_like(wanted).triu(1).bool()
    if not above.any() or (wanted[above] != 0).any():
        return None
    leaks = (mine.abs() > CLOSE) & above
    if not leaks.any():
        return None
    query, key = leaks.nonzero()[0][-2:].tolist()
    sentence = f"The future leaks: the token in row {query} looks at the later token {key}."
    return Reading(
        "future_leaks",
        sentence,
        "Which triangle of the scores has to vanish, and does the diagonal?",
    )


def repeated_blocks(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> Reading | None:
    """See heads that all say the same."""
    del names
    for size in _block_sizes(mine):
        mine_blocks, wanted_blocks = torch.split(mine, size, -1), torch.split(wanted, size, -1)
        alike = all(_close(block, mine_blocks[0]) for block in mine_blocks)
        if alike and not _close(wanted_blocks[0], wanted_blocks[1]):
            sentence = f"Your result repeats the same block of {size} columns: all heads are equal."
            return Reading("heads_repeated", sentence, "Does each head have parameters of its own?")
    return None


def reordered_blocks(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> Reading | None:
    """See the right heads in another order, or their columns interleaved."""
    del names
    for size in _block_sizes(mine):
        heads = mine.shape[-1] // size
        blocks = torch.split(wanted, size, -1)
        if heads <= 4:  # noqa: PLR2004  # 24 orders; more are not worth the time
            for order in itertools.permutations(blocks):
                if _close(mine, torch.cat(order, -1)):
                    sentence = "The right blocks of columns stand in another order."
                    return Reading(
                        "heads_reordered", sentence, "In which order are the heads concatenated?"
                    )
        interleaved = wanted.reshape(*wanted.shape[:-1], heads, size).mT.flatten(-2)
        if _close(mine, interleaved):
            sentence = "The columns of the heads are interleaved instead of standing side by side."
            return Reading(
                "heads_interleaved",
                sentence,
                "Which axis does view or reshape run through fastest?",
            )
    return None


def shifted_rows(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> Reading | None:
    """See the right rows one place off."""
    del names
    if mine.ndim < 2 or mine.shape[-2] < MIN_EVIDENCE:  # noqa: PLR2004  # a vector has no rows
        return None
    for shift, word in ((1, "later"), (-1, "earlier")):
        moved = wanted.roll(shift, -2)
        inner = slice(1, None) if shift > 0 else slice(None, -1)
        if _close(mine[..., inner, :], moved[..., inner, :]):
            sentence = f"Your rows are the right ones, one token {word}."
            return Reading(
                "rows_shifted",
                sentence,
                "A slice ends before its second number: which tokens does yours take?",
            )
    return None


def same_everywhere(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> Reading | None:
    """See one row for all tokens where they should differ."""
    del names
    if mine.ndim < 2 or mine.shape[-2] < 2 or _close(wanted, wanted[..., :1, :].expand_as(wanted)):  # noqa: PLR2004  # rows to compare
        return None
    if not _close(mine, mine[..., :1, :].expand_as(mine)):
        return None
    sentence = "Every token gets the same row: nothing depends on the query."
    return Reading("rows_equal", sentence, "Where does the query of each token enter?")


def drawn_otherwise(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> Reading | None:
    """See numbers that torch draws under another seed, distribution or order."""
    del names
    if mine.ndim != 2 or mine.numel() < MIN_EVIDENCE or _close(mine, wanted):  # noqa: PLR2004  # weight matrices
        return None
    for seed, (name, draw), turn in itertools.product(SEEDS, _DRAWS.items(), range(4)):
        if _close(mine, _drawn(seed, draw, turn, tuple(mine.shape))):
            sentence = f"These are the numbers of {name} under seed {seed}, the {_nth(turn)} draw."
            return Reading(
                "drawn_otherwise", sentence, "Which seed, which distribution, in which order?"
            )
    return None


READERS: tuple[Reader, ...] = (
    transposed,
    future_leaks,
    columns_sum_to_one,
    rows_do_not_sum_to_one,
    constant_factor,
    same_everywhere,
    repeated_blocks,
    reordered_blocks,
    shifted_rows,
    drawn_otherwise,
)

_DRAWS: dict[str, Callable[..., Tensor]] = {
    "torch.rand": torch.rand,
    "torch.randn": torch.randn,
    "nn.Linear": lambda rows, columns: torch.nn.Linear(columns, rows, bias=False).weight.detach(),
}


def _drawn(seed: int, draw: Callable[..., Tensor], turn: int, shape: tuple[int, ...]) -> Tensor:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for _ in range(turn):
            draw(*shape)
        return draw(*shape)


def _named_factor(factor: float, shape: Sequence[int], names: Sequence[str]) -> str:
    for size, name in zip(shape, names, strict=True):
        if size < 2:  # noqa: PLR2004  # one has no root of its own
            continue
        for value, text in (
            (math.sqrt(size), f"√{name} = √{size}"),
            (1 / math.sqrt(size), f"1/√{name} = 1/√{size}"),
            (float(size), f"{name} = {size}"),
            (1 / size, f"1/{name} = 1/{size}"),
        ):
            if abs(factor - value) < CLOSE * max(1.0, value):
                return text
    return ""


def _block_sizes(tensor: Tensor) -> Iterator[int]:
    width = tensor.shape[-1] if tensor.ndim else 0
    if tensor.numel() >= MIN_EVIDENCE:
        yield from (size for size in range(1, width // 2 + 1) if width % size == 0)


def _ones(sums: Tensor) -> bool:
    return _close(sums, torch.ones_like(sums))


def _close(left: Tensor, right: Tensor) -> bool:
    return left.shape == right.shape and torch.allclose(left, right, rtol=CLOSE, atol=CLOSE)


def _nth(index: int) -> str:
    return ("first", "second", "third", "fourth", "fifth")[index] if index < 5 else f"{index + 1}th"  # noqa: PLR2004  # words run out
