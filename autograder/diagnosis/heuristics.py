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
MAX_HEADS = 4  # 24 orders; more are not worth the time
MAX_DRAWN = 1 << 12  # entries; drawing more by every seed is not worth the time


STEPS = {  # torch functions by name, and what they do in attention
    "linear": "a projection",
    "matmul": "a matrix product",
    "__matmul__": "a matrix product",
    "div": "the scaling",
    "__truediv__": "the scaling",
    "masked_fill": "the mask",
    "softmax": "the softmax",
    "exp": "the exponential",
}


class WrongAnswerPattern(NamedTuple):
    """What a wrong tensor looks like: a short name, a sentence, a question."""

    name: str
    sentence: str
    question: str


Reader = Callable[[Tensor, Tensor, Sequence[str]], WrongAnswerPattern | None]


def read(answer: object, expected: object, axes: Sequence[str] = ()) -> WrongAnswerPattern | None:
    """Say what *answer* looks like beside *expected*; *axes* names the expected axes.

    Of several tensors, such as the parameters of a module, the first that says something is told.
    """
    if whole := detached(answer, expected) or no_parameters(answer, expected):
        return whole
    if isinstance(answer, dict) and isinstance(expected, dict):
        pairs = [(answer[name], expected[name]) for name in expected if name in answer]
    elif isinstance(answer, list | tuple) and isinstance(expected, list | tuple):
        pairs = list(zip(answer, expected, strict=False))
    elif isinstance(answer, Tensor) and isinstance(expected, Tensor):
        return read_tensor(answer.detach(), expected.detach(), axes)
    else:
        return None
    return next((found for mine, wanted in pairs if (found := read(mine, wanted))), None)


def matches_intermediate_step(
    answer: object, steps: Sequence[tuple[str, Tensor]]
) -> WrongAnswerPattern | None:
    """See what the right computation has before its end, such as weights instead of contexts."""
    if not isinstance(answer, Tensor) or answer.numel() < MIN_EVIDENCE:
        return None
    mine = answer.detach()
    if not mine.is_floating_point() or bool((mine == mine.flatten()[0]).all()):
        return None
    for function, step in steps:
        word = STEPS.get(function)
        if word and step.dtype == mine.dtype and _close(mine, step):
            sentence = f"This is a step on the way: what the right computation has after {word}."
            return WrongAnswerPattern(
                "step_on_the_way", sentence, "Which step leads on from there?"
            )
    return None


def detached(answer: object, expected: object) -> WrongAnswerPattern | None:
    """See a result that no gradient flows back from."""
    if not isinstance(answer, dict) or not isinstance(expected, dict):
        return None
    mine, wanted = answer.get("gradients"), expected.get("gradients")
    if not isinstance(mine, dict) or not isinstance(wanted, dict) or not mine:
        return None
    if any(item is not None for item in mine.values()):
        return None
    if all(item is None for item in wanted.values()):
        return None
    sentence = "No gradient comes back: the result is cut off from what it was computed from."
    question = "Where do the numbers leave torch's graph: .detach(), .data, .item(), no_grad?"
    return WrongAnswerPattern("detached", sentence, question)


def no_parameters(answer: object, expected: object) -> WrongAnswerPattern | None:
    """See a module that holds no parameters where it should."""
    if answer != {} or not isinstance(expected, dict) or not expected:
        return None
    sentence = "The module has no parameters: a plain tensor as an attribute is none."
    return WrongAnswerPattern(
        "no_parameters", sentence, "What turns a tensor into a parameter of its module?"
    )


def input_changed() -> WrongAnswerPattern:
    """Tell that a call wrote into its argument."""
    sentence = "Your code writes into the tensor that it was given."
    question = "Which operation works in place: one with += or a name that ends in an underscore?"
    return WrongAnswerPattern("input_changed", sentence, question)


def read_tensor(
    mine: Tensor, wanted: Tensor, axes: Sequence[str] = ()
) -> WrongAnswerPattern | None:
    """Say what tensor *mine* looks like beside *wanted*."""
    names = [f"axis {name}" for name in axes]
    if len(names) != wanted.ndim:
        names = [f"the {_nth(axis)} axis" for axis in range(wanted.ndim)]
    if mine.shape != wanted.shape:
        return read_shape(tuple(mine.shape), tuple(wanted.shape), names)
    if mine.is_complex() or wanted.is_complex():
        return None
    exact, right = mine.double(), wanted.double()  # one dtype, which every reading can compare
    if torch.allclose(exact, right, rtol=CLOSE, atol=CLOSE, equal_nan=True):
        return other_dtype(mine, wanted)
    if not (mine.is_floating_point() and wanted.is_floating_point()):
        return None
    readers = READERS if exact.isfinite().all() else (not_a_number, infinite)
    return next((found for reader in readers if (found := reader(exact, right, names))), None)


def read_shape(
    mine: tuple[int, ...], wanted: tuple[int, ...], names: Sequence[str]
) -> WrongAnswerPattern | None:
    """Name the axis that is missing, extra, swapped, or of the wrong size."""
    question = "Which axis should each step keep, and which should it sum over?"
    missing = [axis for axis in range(len(wanted)) if mine == wanted[:axis] + wanted[axis + 1 :]]
    if missing:
        which = _capital(names[missing[0]]) if len(missing) == 1 else "One axis"
        return WrongAnswerPattern("axis_missing", f"{which} is missing.", question)
    extra = [axis for axis in range(len(mine)) if mine[:axis] + mine[axis + 1 :] == wanted]
    if extra:
        which = f", the {_nth(extra[0])}" if len(extra) == 1 else ""
        return WrongAnswerPattern("axis_extra", f"There is one axis too many{which}.", question)
    if len(mine) != len(wanted):
        return None
    wrong = [axis for axis in range(len(wanted)) if mine[axis] != wanted[axis]]
    if len(wrong) == 2 and mine == _swapped(wanted, *wrong):  # noqa: PLR2004  # two change places
        sentence = f"{_capital(names[wrong[0]])} and {names[wrong[1]]} are swapped."
        return WrongAnswerPattern(
            "axes_swapped", sentence, "Rows are queries: who stands in which row?"
        )
    if len(wrong) == 1:
        sentence = f"{_capital(names[wrong[0]])} has another size than the exercise asks for."
        return WrongAnswerPattern("axis_size", sentence, question)
    return None


def other_dtype(mine: Tensor, wanted: Tensor) -> WrongAnswerPattern | None:
    """See the right numbers in another dtype."""
    if mine.dtype == wanted.dtype:
        return None
    sentence = "These are the right numbers, but their dtype is another one."
    return WrongAnswerPattern(
        "other_dtype", sentence, "Which dtype goes in, and which step changes it?"
    )


def not_a_number(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> WrongAnswerPattern | None:
    """Say in which rows NaN stands."""
    del names
    strange = mine.isnan() & wanted.isfinite()
    if mine.ndim < 2 or not strange.any():  # noqa: PLR2004  # a vector has no rows
        return None
    rows = strange.any(-1).reshape(-1, mine.shape[-2])
    if rows.all():
        sentence = "Every row is NaN."
        question = "Does something multiply 0 by infinity, or divide infinity by infinity?"
        return WrongAnswerPattern("nan_everywhere", sentence, question)
    if rows[:, 0].any() and not rows[:, 1:].any():
        sentence = "Only the first row is NaN: its query sees nothing at all."
        return WrongAnswerPattern("nan_first_row", sentence, "May a token look at itself?")
    if rows[:, -1].any() and not rows[:, :-1].any():
        sentence = "Only the last row is NaN: its query sees nothing at all."
        return WrongAnswerPattern(
            "nan_last_row", sentence, "Which entries does the mask hide, and which not?"
        )
    return None


def infinite(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> WrongAnswerPattern | None:
    """See infinities that no softmax has turned into zeros."""
    del names
    if mine.isnan().any() or not (mine.isinf() & wanted.isfinite()).any():
        return None
    sentence = "Some entries are infinite."
    question = "Which step turns minus infinity into a weight of zero, and does it come after?"
    return WrongAnswerPattern("infinite", sentence, question)


def transposed(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> WrongAnswerPattern | None:
    """See the right numbers with rows and columns exchanged."""
    del names
    if mine.ndim < 2 or mine.shape[-1] != mine.shape[-2]:  # noqa: PLR2004  # a vector has no transpose
        return None
    if not _close(mine.mT, wanted):
        return None
    sentence = "These are the right numbers, transposed: rows and columns are exchanged."
    return WrongAnswerPattern(
        "transposed", sentence, "Row i belongs to token i as the query. Whose rows are yours?"
    )


def constant_factor(
    mine: Tensor, wanted: Tensor, names: Sequence[str]
) -> WrongAnswerPattern | None:
    """See the right numbers times one constant, and name it if it is a size or a root of one."""
    if int((wanted.abs() > CLOSE).sum()) < MIN_EVIDENCE:
        return None
    factor = float((mine * wanted).sum() / (wanted * wanted).sum())
    if abs(factor) < CLOSE or not _close(mine / factor, wanted):
        return None
    named = _named_factor(factor, wanted.shape, names) or "one constant"  # its digits would tell
    sentence = f"Every entry is the right one times {named}."
    return WrongAnswerPattern(
        "constant_factor", sentence, "Where is the scale applied, and how often?"
    )


def columns_sum_to_one(
    mine: Tensor, wanted: Tensor, names: Sequence[str]
) -> WrongAnswerPattern | None:
    """See weights normalised over the queries instead of the keys."""
    del names
    if mine.ndim < 2 or not _weights(wanted) or _ones(mine.sum(-1)):  # noqa: PLR2004  # rows and columns
        return None
    if _ones(mine.sum(-2)):
        sentence = "Your columns sum to one, your rows don't."
        return WrongAnswerPattern(
            "columns_sum_to_one",
            sentence,
            "Over which axis must the weights of one query sum to one?",
        )
    if mine.ndim > 2 and _ones(mine.sum(0)):  # noqa: PLR2004  # a batch or heads in front
        sentence = "Your weights sum to one over the first axis."
        return WrongAnswerPattern("first_axis_sums_to_one", sentence, "Which axis holds the keys?")
    if _ones(mine.sum((-2, -1))) or _ones(mine.sum()):
        sentence = "Your whole matrix sums to one, not each of its rows."
        return WrongAnswerPattern(
            "matrix_sums_to_one", sentence, "How many queries share one distribution here?"
        )
    return None


def rows_do_not_sum_to_one(
    mine: Tensor, wanted: Tensor, names: Sequence[str]
) -> WrongAnswerPattern | None:
    """See weights that were not normalised, or were changed afterwards."""
    del names
    if not _weights(wanted) or _ones(mine.sum(-1)):
        return None
    if (mine < 0).any():
        sentence = (
            "Some weights are negative: these are scores, or something else was done to them."
        )
        return WrongAnswerPattern(
            "negative_weights",
            sentence,
            "Which function turns any scores into positive shares of one?",
        )
    sentence = "Your rows don't sum to one."
    return WrongAnswerPattern(
        "rows_not_normalised",
        sentence,
        "What happens to the weights after they are normalised, or before?",
    )


def future_leaks(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> WrongAnswerPattern | None:
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
    return WrongAnswerPattern(
        "future_leaks",
        sentence,
        "Which triangle of the scores has to vanish, and does the diagonal?",
    )


def repeated_blocks(
    mine: Tensor, wanted: Tensor, names: Sequence[str]
) -> WrongAnswerPattern | None:
    """See heads that all say the same."""
    del names
    for size in _block_sizes(mine):
        mine_blocks, wanted_blocks = torch.split(mine, size, -1), torch.split(wanted, size, -1)
        matches = all(_close(block, mine_blocks[0]) for block in mine_blocks)
        if size > 1 and matches and not _close(wanted_blocks[0], wanted_blocks[1]):
            sentence = f"Your result repeats the same block of {size} columns: all heads are equal."
            return WrongAnswerPattern(
                "heads_repeated", sentence, "Does each head have parameters of its own?"
            )
    return None


def interleaved_blocks(
    mine: Tensor, wanted: Tensor, names: Sequence[str]
) -> WrongAnswerPattern | None:
    """See the right heads with their columns interleaved."""
    del names
    for size in _block_sizes(mine):
        blocks = wanted.reshape(*wanted.shape[:-1], -1, size)
        if _close(mine, blocks.mT.flatten(-2)):
            sentence = "The columns of the heads are interleaved instead of standing side by side."
            question = "Which axis does view or reshape run through fastest?"
            return WrongAnswerPattern("heads_interleaved", sentence, question)
    return None


def reordered_blocks(
    mine: Tensor, wanted: Tensor, names: Sequence[str]
) -> WrongAnswerPattern | None:
    """See the right heads in another order."""
    del names
    for size in _block_sizes(mine):
        blocks = torch.split(wanted, size, -1)
        if len(blocks) > MAX_HEADS:
            continue
        for order in itertools.permutations(blocks):
            if _close(mine, torch.cat(order, -1)):
                sentence = "The right blocks of columns stand in another order."
                question = "In which order are the heads concatenated?"
                return WrongAnswerPattern("heads_reordered", sentence, question)
    return None


def shifted_rows(mine: Tensor, wanted: Tensor, names: Sequence[str]) -> WrongAnswerPattern | None:
    """See the right rows one place off."""
    del names
    if mine.ndim < 2 or mine.shape[-2] < MIN_EVIDENCE:  # noqa: PLR2004  # a vector has no rows
        return None
    for shift, word in ((1, "later"), (-1, "earlier")):
        moved = wanted.roll(shift, -2)
        inner = slice(1, None) if shift > 0 else slice(None, -1)
        found, there = mine[..., inner, :], moved[..., inner, :]
        if _close(found, there) and not _close(found, wanted[..., inner, :]):
            sentence = f"Your rows are the right ones, one token {word}."
            return WrongAnswerPattern(
                "rows_shifted",
                sentence,
                "A slice ends before its second number: which tokens does yours take?",
            )
    return None


def same_everywhere(
    mine: Tensor, wanted: Tensor, names: Sequence[str]
) -> WrongAnswerPattern | None:
    """See one row for all tokens where they should differ."""
    del names
    if mine.ndim < 2 or mine.shape[-2] < 2 or _close(wanted, wanted[..., :1, :].expand_as(wanted)):  # noqa: PLR2004  # rows to compare
        return None
    if not _close(mine, mine[..., :1, :].expand_as(mine)):
        return None
    sentence = "Every token gets the same row: nothing depends on the query."
    return WrongAnswerPattern("rows_equal", sentence, "Where does the query of each token enter?")


def drawn_otherwise(
    mine: Tensor, wanted: Tensor, names: Sequence[str]
) -> WrongAnswerPattern | None:
    """See numbers that torch draws under another seed, distribution or order."""
    del wanted, names
    if mine.ndim != 2 or not MIN_EVIDENCE <= mine.numel() <= MAX_DRAWN:  # noqa: PLR2004  # weight matrices
        return None
    for seed, (name, draw), turn in itertools.product(SEEDS, _DRAWS.items(), range(4)):
        if _close(mine, _drawn(seed, draw, turn, tuple(mine.shape))):
            sentence = f"These are the numbers of {name} under seed {seed}, the {_nth(turn)} draw."
            return WrongAnswerPattern(
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
    interleaved_blocks,
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
        return draw(*shape).double()


def _named_factor(factor: float, shape: Sequence[int], names: Sequence[str]) -> str:
    for size, name in reversed(list(zip(shape, names, strict=True))):  # features stand last
        for value, text in (
            (math.sqrt(size), f"the root of the size of {name}"),
            (1 / math.sqrt(size), f"one over the root of the size of {name}"),
            (float(size), f"the size of {name}"),
            (1 / size, f"one over the size of {name}"),
        ):
            if size > 1 and abs(factor - value) < CLOSE * value:
                return text
    return "minus one" if abs(factor + 1) < CLOSE else ""


def _block_sizes(tensor: Tensor) -> Iterator[int]:
    """Yield the sizes of equal blocks of columns, the largest first."""
    width = tensor.shape[-1] if tensor.ndim else 0
    if tensor.numel() >= MIN_EVIDENCE:
        yield from (size for size in range(width // 2, 0, -1) if width % size == 0)


def _swapped(sizes: tuple[int, ...], left: int, right: int) -> tuple[int, ...]:
    swapped = list(sizes)
    swapped[left], swapped[right] = swapped[right], swapped[left]
    return tuple(swapped)


def _weights(wanted: Tensor) -> bool:
    """Whether every row sums to one, and is more than the one itself."""
    return wanted.ndim > 0 and wanted.shape[-1] > 1 and _ones(wanted.sum(-1))


def _ones(sums: Tensor) -> bool:
    return _close(sums, torch.ones_like(sums))


def _close(left: Tensor, right: Tensor) -> bool:
    return left.shape == right.shape and torch.allclose(left, right, rtol=CLOSE, atol=CLOSE)


def _nth(index: int) -> str:
    return ("first", "second", "third", "fourth", "fifth")[index] if index < 5 else f"{index + 1}th"  # noqa: PLR2004  # words run out


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
