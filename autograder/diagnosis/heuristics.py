"""Describes a wrong answer that no misconception explains.

Each heuristic compares an answer with the expected one and returns a pattern only if certain.
No sentence contains a value of a hidden input.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

CLOSE = 1e-4  # as tight as a check compares, relative to values of order one
SEEDS = (0, 1, 42, 123, 789, 1337)  # those of the documents, and common choices
MIN_ENTRIES = 4  # fewer could agree by chance
MAX_HEADS = 4  # 24 orders; trying more takes too long
MAX_DRAWN = 1 << 12  # entries; drawing more with every seed takes too long

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
    """What a wrong answer looks like: a short name, a sentence, a question."""

    name: str
    sentence: str
    question: str


Heuristic = Callable[[Tensor, Tensor], WrongAnswerPattern | None]

INPUT_CHANGED = WrongAnswerPattern(
    "input_changed",
    "Your code writes into the tensor that it was given.",
    "Which operation works in place: one with += or a name that ends in an underscore?",
)


def find_pattern(answer: object, expected: object) -> WrongAnswerPattern | None:
    """Compare *answer* with *expected*; return the first pattern that a heuristic finds.

    Dictionaries are compared by name, such as the parameters of a module; sequences by position.
    """
    if found := no_gradient(answer, expected) or no_parameters(answer, expected):
        return found
    if isinstance(answer, Tensor) and isinstance(expected, Tensor):
        return tensor_pattern(answer.detach(), expected.detach())
    if isinstance(answer, dict) and isinstance(expected, dict):
        pairs = [(answer[name], expected[name]) for name in expected if name in answer]
    elif isinstance(answer, list | tuple) and isinstance(expected, list | tuple):
        pairs = list(zip(answer, expected, strict=False))
    else:
        return None
    return next((found for pair in pairs if (found := find_pattern(*pair))), None)


def matches_intermediate_step(
    answer: object, steps: Sequence[tuple[str, Tensor]]
) -> WrongAnswerPattern | None:
    """Find *answer* among the *steps* of the right computation: weights instead of contexts."""
    if not isinstance(answer, Tensor) or answer.numel() < MIN_ENTRIES:
        return None
    answer = answer.detach()
    if not answer.is_floating_point() or bool((answer == answer.flatten()[0]).all()):
        return None
    for function, step in steps:
        operation = STEPS.get(function)
        if operation and step.dtype == answer.dtype and _close(answer, step):
            return WrongAnswerPattern(
                "intermediate_step",
                "This is an intermediate step: "
                f"the right computation has this result after {operation}.",
                "Which step comes next?",
            )
    return None


def no_gradient(answer: object, expected: object) -> WrongAnswerPattern | None:
    """Recognise a result through which no gradient flows back."""
    if not isinstance(answer, dict) or not isinstance(expected, dict):
        return None
    gradients, wanted = answer.get("gradients"), expected.get("gradients")
    if not isinstance(gradients, dict) or not isinstance(wanted, dict) or not gradients:
        return None
    if any(item is not None for item in gradients.values()):
        return None
    if all(item is None for item in wanted.values()):
        return None
    return WrongAnswerPattern(
        "detached",
        "No gradient flows back: the result is detached from what it was computed from.",
        "Where do the values leave torch's graph: .detach(), .data, .item(), no_grad?",
    )


def no_parameters(answer: object, expected: object) -> WrongAnswerPattern | None:
    """Recognise a module without parameters."""
    if answer != {} or not isinstance(expected, dict) or not expected:
        return None
    return WrongAnswerPattern(
        "no_parameters",
        "The module has no parameters: a plain tensor as an attribute is not one.",
        "What turns a tensor into a parameter of its module?",
    )


def tensor_pattern(answer: Tensor, expected: Tensor) -> WrongAnswerPattern | None:
    """Compare two tensors."""
    if answer.shape != expected.shape:
        return shape_pattern(tuple(answer.shape), tuple(expected.shape))
    if answer.is_complex() or expected.is_complex():
        return None
    left, right = answer.double(), expected.double()  # one dtype that every heuristic can compare
    if torch.allclose(left, right, rtol=CLOSE, atol=CLOSE, equal_nan=True):
        return other_dtype(answer, expected)
    if not (answer.is_floating_point() and expected.is_floating_point()):
        return None
    heuristics = FINITE if left.isfinite().all() else (nan_rows, infinite)
    return next((found for heuristic in heuristics if (found := heuristic(left, right))), None)


def shape_pattern(answer: tuple[int, ...], expected: tuple[int, ...]) -> WrongAnswerPattern | None:
    """Name the axis that is missing, extra, swapped, or of the wrong size."""
    question = "Which axis should each step keep, and which should it sum over?"
    axes = range(len(expected))
    missing = [axis for axis in axes if answer == expected[:axis] + expected[axis + 1 :]]
    if missing:
        which = f"The {_nth(missing[0])} axis" if len(missing) == 1 else "One axis"
        return WrongAnswerPattern("axis_missing", f"{which} is missing.", question)
    extra = [axis for axis in range(len(answer)) if answer[:axis] + answer[axis + 1 :] == expected]
    if extra:
        which = f", the {_nth(extra[0])}" if len(extra) == 1 else ""
        return WrongAnswerPattern("axis_extra", f"There is one axis too many{which}.", question)
    if len(answer) != len(expected):
        return None
    wrong = [axis for axis in axes if answer[axis] != expected[axis]]
    first = f"The {_nth(wrong[0])} axis"
    if len(wrong) == 1:
        sentence = f"{first} has another size than the exercise asks for."
        return WrongAnswerPattern("axis_size", sentence, question)
    if len(wrong) == 2 and answer == _swap(expected, *wrong):  # noqa: PLR2004  # two axes
        return WrongAnswerPattern(
            "axes_swapped",
            f"{first} and the {_nth(wrong[1])} axis are swapped.",
            "Rows are queries: which token belongs to which row?",
        )
    return None


def other_dtype(answer: Tensor, expected: Tensor) -> WrongAnswerPattern | None:
    """Recognise the right values in another dtype."""
    if answer.dtype == expected.dtype:
        return None
    return WrongAnswerPattern(
        "other_dtype",
        "These are the right values, but their dtype is wrong.",
        "Which dtype goes in, and which step changes it?",
    )


def nan_rows(answer: Tensor, expected: Tensor) -> WrongAnswerPattern | None:
    """Name the rows that are NaN."""
    wrong = answer.isnan() & expected.isfinite()
    if answer.ndim < 2 or not wrong.any():  # noqa: PLR2004  # a vector has no rows
        return None
    rows = wrong.any(-1).reshape(-1, answer.shape[-2])
    if rows.all():
        return WrongAnswerPattern(
            "nan_everywhere",
            "Every row is NaN.",
            "Does something multiply 0 by infinity, or divide infinity by infinity?",
        )
    if rows[:, 0].any() and not rows[:, 1:].any():
        return WrongAnswerPattern(
            "nan_first_row",
            "Only the first row is NaN: every key is hidden from its query.",
            "May a token look at itself?",
        )
    if rows[:, -1].any() and not rows[:, :-1].any():
        return WrongAnswerPattern(
            "nan_last_row",
            "Only the last row is NaN: every key is hidden from its query.",
            "Which entries does the mask hide, and which not?",
        )
    return None


def infinite(answer: Tensor, expected: Tensor) -> WrongAnswerPattern | None:
    """Recognise infinite values that no softmax turned into zeros."""
    if answer.isnan().any() or not (answer.isinf() & expected.isfinite()).any():
        return None
    return WrongAnswerPattern(
        "infinite",
        "Some entries are infinite.",
        "Which step turns minus infinity into a weight of zero, and does it come after?",
    )


def transposed(answer: Tensor, expected: Tensor) -> WrongAnswerPattern | None:
    """Recognise the right values with rows and columns exchanged."""
    if not _square(answer) or not _close(answer.mT, expected):
        return None
    return WrongAnswerPattern(
        "transposed",
        "These are the right values, transposed: rows and columns are exchanged.",
        "Row i belongs to token i as the query. To which token do your rows belong?",
    )


def constant_factor(answer: Tensor, expected: Tensor) -> WrongAnswerPattern | None:
    """Recognise the right values times a constant; name it if it is a size or a root of one."""
    if int((expected.abs() > CLOSE).sum()) < MIN_ENTRIES:
        return None
    factor = float((answer * expected).sum() / (expected * expected).sum())
    if abs(factor) < CLOSE or not _close(answer / factor, expected):
        return None
    named = _factor_name(factor, expected.shape) or "one constant"  # digits would reveal values
    return WrongAnswerPattern(
        "constant_factor",
        f"Every entry is the right one times {named}.",
        "Where is the scale applied, and how often?",
    )


def columns_sum_to_one(answer: Tensor, expected: Tensor) -> WrongAnswerPattern | None:
    """Recognise weights that are normalised over the wrong axis."""
    if answer.ndim < 2 or not _weights(expected) or _ones(answer.sum(-1)):  # noqa: PLR2004  # rows and columns
        return None
    if _ones(answer.sum(-2)):
        return WrongAnswerPattern(
            "columns_sum_to_one",
            "Your columns sum to one, your rows don't.",
            "Over which axis must the weights of one query sum to one?",
        )
    if answer.ndim > 2 and _ones(answer.sum(0)):  # noqa: PLR2004  # a batch or heads in front
        return WrongAnswerPattern(
            "first_axis_sums_to_one",
            "Your weights sum to one over the first axis.",
            "Which axis holds the keys?",
        )
    if _ones(answer.sum((-2, -1))) or _ones(answer.sum()):
        return WrongAnswerPattern(
            "matrix_sums_to_one",
            "Your whole matrix sums to one, not each of its rows.",
            "How many queries share one distribution here?",
        )
    return None


def rows_do_not_sum_to_one(answer: Tensor, expected: Tensor) -> WrongAnswerPattern | None:
    """Recognise weights that were not normalised, or were changed afterwards."""
    if not _weights(expected) or _ones(answer.sum(-1)):
        return None
    if (answer < 0).any():
        return WrongAnswerPattern(
            "negative_weights",
            "Some weights are negative: these are scores, or a later step changed them.",
            "Which function turns any scores into positive shares of one?",
        )
    return WrongAnswerPattern(
        "rows_not_normalised",
        "Your rows don't sum to one.",
        "What happens to the weights after they are normalised, or before?",
    )


def future_leaks(answer: Tensor, expected: Tensor) -> WrongAnswerPattern | None:
    """Recognise a weight above the diagonal where all must be zero."""
    if not _square(answer):
        return None
    above = torch.ones_like(expected).triu(1).bool()
    if not above.any() or (expected[above] != 0).any():
        return None
    leaks = (answer.abs() > CLOSE) & above
    if not leaks.any():
        return None
    query, key = leaks.nonzero()[0][-2:].tolist()
    return WrongAnswerPattern(
        "future_leaks",
        f"The future leaks: the token in row {query} looks at the later token {key}.",
        "Which triangle of the scores must be hidden, and does the diagonal belong to it?",
    )


def repeated_blocks(answer: Tensor, expected: Tensor) -> WrongAnswerPattern | None:
    """Recognise heads that are all equal."""
    for size in _block_sizes(answer):
        blocks, wanted = torch.split(answer, size, -1), torch.split(expected, size, -1)
        equal = all(_close(block, blocks[0]) for block in blocks)
        if size > 1 and equal and not _close(wanted[0], wanted[1]):
            return WrongAnswerPattern(
                "heads_repeated",
                f"Your result repeats the same block of {size} columns: all heads are equal.",
                "Does each head have parameters of its own?",
            )
    return None


def interleaved_blocks(answer: Tensor, expected: Tensor) -> WrongAnswerPattern | None:
    """Recognise the right heads with their columns interleaved."""
    for size in _block_sizes(answer):
        blocks = expected.reshape(*expected.shape[:-1], -1, size)
        if _close(answer, blocks.mT.flatten(-2)):
            return WrongAnswerPattern(
                "heads_interleaved",
                "The columns of the heads are interleaved; those of one head must be adjacent.",
                "Which axis does view or reshape run through fastest?",
            )
    return None


def reordered_blocks(answer: Tensor, expected: Tensor) -> WrongAnswerPattern | None:
    """Recognise the right heads in another order."""
    for size in _block_sizes(answer):
        blocks = torch.split(expected, size, -1)
        if len(blocks) > MAX_HEADS:
            continue
        orders = itertools.permutations(blocks)
        if any(_close(answer, torch.cat(order, -1)) for order in orders):
            return WrongAnswerPattern(
                "heads_reordered",
                "The blocks of columns are right, but in another order.",
                "In which order are the heads concatenated?",
            )
    return None


def shifted_rows(answer: Tensor, expected: Tensor) -> WrongAnswerPattern | None:
    """Recognise the right rows, shifted by one."""
    if answer.ndim < 2 or answer.shape[-2] < MIN_ENTRIES:  # noqa: PLR2004  # a vector has no rows
        return None
    for shift, direction in ((1, "later"), (-1, "earlier")):
        inner = slice(1, None) if shift > 0 else slice(None, -1)
        rows, shifted = answer[..., inner, :], expected.roll(shift, -2)[..., inner, :]
        if _close(rows, shifted) and not _close(rows, expected[..., inner, :]):
            return WrongAnswerPattern(
                "rows_shifted",
                f"Your rows are the right ones, one token {direction}.",
                "A slice ends before its second number: which tokens does yours take?",
            )
    return None


def equal_rows(answer: Tensor, expected: Tensor) -> WrongAnswerPattern | None:
    """Recognise one row for all tokens where rows should differ."""
    if answer.ndim < 2 or answer.shape[-2] < 2 or _rows_agree(expected):  # noqa: PLR2004  # rows to compare
        return None
    if not _rows_agree(answer):
        return None
    return WrongAnswerPattern(
        "rows_equal",
        "Every token gets the same row: nothing depends on the query.",
        "Which step uses the query of each token?",
    )


def other_draw(answer: Tensor, expected: Tensor) -> WrongAnswerPattern | None:  # noqa: ARG001  # as every heuristic
    """Recognise values that torch draws with another seed, distribution or order."""
    if answer.ndim != 2 or not MIN_ENTRIES <= answer.numel() <= MAX_DRAWN:  # noqa: PLR2004  # weight matrices
        return None
    for seed, (name, draw), turn in itertools.product(SEEDS, _DRAWS.items(), range(4)):
        if _close(answer, _draw(seed, draw, turn, tuple(answer.shape))):
            return WrongAnswerPattern(
                "other_draw",
                f"These are the values of {name} with seed {seed}, the {_nth(turn)} draw.",
                "Which seed, which distribution, in which order?",
            )
    return None


FINITE: tuple[Heuristic, ...] = (  # in the order in which they are tried
    transposed,
    future_leaks,
    columns_sum_to_one,
    rows_do_not_sum_to_one,
    constant_factor,
    equal_rows,
    repeated_blocks,
    interleaved_blocks,
    reordered_blocks,
    shifted_rows,
    other_draw,
)

_DRAWS: dict[str, Callable[..., Tensor]] = {
    "torch.rand": torch.rand,
    "torch.randn": torch.randn,
    "nn.Linear": lambda rows, columns: torch.nn.Linear(columns, rows, bias=False).weight.detach(),
}


def _draw(seed: int, draw: Callable[..., Tensor], turn: int, shape: tuple[int, ...]) -> Tensor:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for _ in range(turn):
            draw(*shape)
        return draw(*shape).double()


def _factor_name(factor: float, shape: Sequence[int]) -> str:
    for axis in reversed(range(len(shape))):  # the axis of features comes last
        size, name = shape[axis], f"the {_nth(axis)} axis"
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
    if tensor.numel() >= MIN_ENTRIES:
        yield from (size for size in range(width // 2, 0, -1) if width % size == 0)


def _swap(sizes: tuple[int, ...], left: int, right: int) -> tuple[int, ...]:
    swapped = list(sizes)
    swapped[left], swapped[right] = swapped[right], swapped[left]
    return tuple(swapped)


def _square(tensor: Tensor) -> bool:
    return tensor.ndim >= 2 and tensor.shape[-1] == tensor.shape[-2]  # noqa: PLR2004  # rows and columns


def _weights(expected: Tensor) -> bool:
    """Whether every row sums to one and has more than one entry."""
    return expected.ndim > 0 and expected.shape[-1] > 1 and _ones(expected.sum(-1))


def _ones(sums: Tensor) -> bool:
    return _close(sums, torch.ones_like(sums))


def _rows_agree(tensor: Tensor) -> bool:
    return _close(tensor, tensor[..., :1, :].expand_as(tensor))


def _close(left: Tensor, right: Tensor) -> bool:
    return left.shape == right.shape and torch.allclose(left, right, rtol=CLOSE, atol=CLOSE)


def _nth(index: int) -> str:
    return ("first", "second", "third", "fourth", "fifth")[index] if index < 5 else f"{index + 1}th"  # noqa: PLR2004  # there are five words
