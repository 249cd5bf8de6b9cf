"""Describes wrong answers that no mistake explains, by patterns in their numbers.

Each heuristic compares an answer with the expected one, and returns a pattern only if it is
certain. For a check with hidden inputs, a pattern has a fixed sentence, which can't contain a
number of a hidden input or a number that the code chose.
"""

import builtins
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.diagnosis.description import WrongAnswerPattern
from autograder.sandbox.protocol import OpaqueValue
from autograder.suite.noise import APART, SAME, Agreement, agreement, scale_of

FACTOR = "constant_factor"
TYPED = 1e-4  # values may be copied from a document, which prints four digits
SMALL = 1e-2  # no pattern of smaller numbers is certain
MIN_ENTRIES = 4  # fewer could agree by chance
MAX_DRAWN = 1 << 12  # entries; drawing more with every seed takes too long

STEPS = {  # names of torch functions, and the sentences about their role in attention
    "linear": "intermediate_step.projection",
    "matmul": "intermediate_step.product",
    "__matmul__": "intermediate_step.product",
    "div": "intermediate_step.scaling",
    "__truediv__": "intermediate_step.scaling",
    "masked_fill": "intermediate_step.mask",
    "softmax": "intermediate_step.softmax",
    "exp": "intermediate_step.exponential",
}


Pattern = WrongAnswerPattern | None
Heuristic = Callable[[Tensor, Tensor], Pattern]
NOT_REFUSED = WrongAnswerPattern.of("not_refused")
INPUT_CHANGED = WrongAnswerPattern.of("input_changed")
SEEDS = (0, 1, 42, 123, 789, 1337)  # from the documents, and common choices
TURNS = 4  # consecutive draws to compare; a module draws about three matrices
_DRAWS: dict[str, Callable[..., Tensor]] = {
    "torch.rand": torch.rand,
    "torch.randn": torch.randn,
    "nn.Linear": lambda rows, columns: torch.nn.Linear(columns, rows, bias=False).weight.detach(),
}
DRAWS = tuple(itertools.product(SEEDS, _DRAWS, range(TURNS)))


def find_pattern(answer: object, expected: object, verb: str = "call") -> Pattern:
    """Compare the *answer* to a request *verb* with *expected*; return the first pattern found.

    Numbers of gradients and buffers have no patterns: gradients depend on all previous steps, and
    buffers may have any values.
    """
    if verb in {"call", "forward", "method"}:
        return _result_pattern(answer, expected)
    known = isinstance(answer, dict) and isinstance(expected, dict) and verb in BY_VERB
    return BY_VERB[verb](answer, expected) if known else None


def find_tuple(answer: object, expected: object) -> Pattern:
    """Recognize one tensor in a tuple or a list where a tensor is expected."""
    match answer:
        case [Tensor()] if isinstance(expected, Tensor):
            return WrongAnswerPattern.of("tuple_for_result")
    return None


def find_error(answer: object) -> Pattern:
    """Recognize an exception of Python that was returned instead of raised."""
    kind = getattr(builtins, answer.kind, None) if isinstance(answer, OpaqueValue) else None
    is_error = isinstance(kind, type) and issubclass(kind, BaseException)
    return WrongAnswerPattern.of("exception_as_result") if is_error else None


def matches_intermediate_step(
    answer: object, expected: object, steps: Sequence[tuple[str, Tensor]]
) -> Pattern:
    """Find *answer* among the *steps* of the right computation, such as weights."""
    if not isinstance(answer, Tensor) or answer.numel() < MIN_ENTRIES:
        return None
    answer = answer.detach()
    if not answer.is_floating_point() or _constant(answer.double()):
        return None
    if isinstance(expected, Tensor) and _close(answer.double(), expected.double()):
        return None  # right: the check failed for a different reason
    for function, step in steps:
        if function in STEPS and step.dtype == answer.dtype and _close(answer, step):
            return WrongAnswerPattern.of(STEPS[function])
    return None


def _result_pattern(answer: object, expected: object) -> Pattern:
    """Compare the results of two calls; sequences are compared by position."""
    if isinstance(answer, Tensor) and isinstance(expected, Tensor):
        return _tensor_pattern(answer.detach(), expected.detach(), FINITE)
    if isinstance(answer, list | tuple) and isinstance(expected, list | tuple):
        pairs = list(zip(answer, expected, strict=False))
        first = next((found for pair in pairs if (found := _result_pattern(*pair))), None)
        is_factor = first is not None and first.name == FACTOR
        several = sum(not _is_right(*pair) for pair in pairs) > 1
        return None if is_factor and several else first  # each may be off by its own factor
    return None


def _is_right(answer: object, expected: object) -> bool:
    """Whether two results are tensors that agree."""
    if not (isinstance(answer, Tensor) and isinstance(expected, Tensor)):
        return False
    return answer.shape == expected.shape and _close(answer.double(), expected.double())


def _gradient_pattern(answer: dict[str, Any], expected: dict[str, Any]) -> Pattern:
    """Recognize that no gradient arrives, otherwise compare the returned values."""
    mine, right = answer.get("gradients"), expected.get("gradients")
    if isinstance(mine, dict) and isinstance(right, dict) and mine:
        arrives = [any(one is not None for one in some.values()) for some in (mine, right)]
        if arrives == [False, True]:
            return WrongAnswerPattern.of("no_gradient_flows")
    found = _result_pattern(answer.get("output"), expected.get("output"))
    return None if found and found.name == FACTOR else found  # the wrong entries are gradients


def _parameter_pattern(answer: dict[str, Any], expected: dict[str, Any]) -> Pattern:
    """Return the pattern in the first parameter with one; the sentence begins with its name."""
    if expected and not answer:
        return WrongAnswerPattern.of("no_parameters")
    for name, right in expected.items():
        mine = answer.get(name)
        if isinstance(mine, Tensor) and isinstance(right, Tensor):
            found = _tensor_pattern(mine.detach(), right.detach(), DRAWN)
            if found:
                public = found.public or found.sentence
                return found._replace(sentence=f"{name}: {found.sentence}", public=public)
    return None


def _tensor_pattern(answer: Tensor, expected: Tensor, finite: Sequence[Heuristic]) -> Pattern:
    """Return the first pattern; *finite* are the heuristics for tensors without NaN."""
    if answer.shape != expected.shape:
        return _shape_pattern(tuple(answer.shape), tuple(expected.shape))
    if answer.is_complex() or expected.is_complex():
        return None
    left, right = answer.double(), expected.double()  # a dtype that every heuristic can compare
    if not _apart(left, right) or not (answer.is_floating_point() and expected.is_floating_point()):
        return None
    heuristics = _certain(left, right, finite) if left.isfinite().all() else (_not_finite,)
    return next((found for heuristic in heuristics if (found := heuristic(left, right))), None)


def _certain(
    answer: Tensor, expected: Tensor, heuristics: Sequence[Heuristic]
) -> Sequence[Heuristic]:
    """Return *heuristics*, but none for constants and tiny numbers, which fit any pattern."""
    weak = _constant(answer) or _constant(expected) or float(expected.abs().max()) < SMALL
    return () if weak else heuristics


def _shape_pattern(answer: tuple[int, ...], expected: tuple[int, ...]) -> Pattern:
    """Describe the axes that are swapped or of the wrong size."""
    if len(answer) != len(expected):
        return None
    wrong = [axis for axis in range(len(expected)) if answer[axis] != expected[axis]]
    if len(wrong) == 1:
        return WrongAnswerPattern.of("axis_size", axis=_nth(wrong[0]))
    swapped = [answer[axis] for axis in wrong] == [expected[axis] for axis in reversed(wrong)]
    if len(wrong) == 2 and swapped:  # noqa: PLR2004  # two axes
        one, other = map(_nth, wrong)
        return WrongAnswerPattern.of("axes_swapped", one=one, other=other)
    return _traded(answer, expected, wrong)


def _traded(answer: tuple[int, ...], expected: tuple[int, ...], wrong: Sequence[int]) -> Pattern:
    """Recognize parts that are concatenated along the wrong axis, by the two wrong sizes."""
    for long, short in itertools.permutations(wrong, 2) if len(wrong) == 2 else ():  # noqa: PLR2004  # two axes
        times, rest = divmod(answer[long], max(expected[long], 1))
        if not rest and times > 1 and answer[short] * times == expected[short]:
            words = {"one": _nth(long), "times": times, "other": _nth(short)}
            return WrongAnswerPattern.of("axes_traded", **words)
    return None


def _not_finite(answer: Tensor, expected: Tensor) -> Pattern:
    """Recognize NaN in every row, or infinities that no softmax turned into zeros."""
    if not answer.isnan().any():
        infinite = (answer.isinf() & expected.isfinite()).any()
        key = "infinite.entries" if expected.ndim else "infinite.number"
        return WrongAnswerPattern.of(key) if infinite else None
    rows = (answer.isnan() & expected.isfinite()).any(-1)
    found = answer.ndim > 1 and rows.numel() and rows.all()
    return WrongAnswerPattern.of("nan_everywhere") if found else None


def _wrong_sums(answer: Tensor, expected: Tensor) -> Pattern:
    """Recognize weights whose rows are not normalized."""
    if expected.ndim == 0 or not bool((expected >= 0).all() and (expected % 1).any()):
        return None  # no weights
    right, wrong = expected.sum(-1), answer.sum(-1)
    found = _close(right, torch.ones_like(right)) and _apart(wrong, torch.ones_like(wrong))
    rows, vector = "rows_not_normalized.rows", "rows_not_normalized.vector"
    return WrongAnswerPattern.of(rows if expected.ndim > 1 else vector) if found else None


def _constant_factor(answer: Tensor, expected: Tensor) -> Pattern:
    """Recognize the right values times a constant, which is not said: it would reveal values."""
    visible = expected[expected.abs() > SMALL]
    if visible.numel() < MIN_ENTRIES or _constant(visible):
        return None
    factor = float((answer * expected).sum() / (expected * expected).sum())
    if abs(factor) < APART or not _close(answer / factor, expected):
        return None
    minus = abs(factor + 1) < SAME
    return WrongAnswerPattern.of("constant_factor.minus_one" if minus else "constant_factor")


def _rows_equal(answer: Tensor, expected: Tensor) -> Pattern:
    """Recognize equal rows for all tokens where the rows should differ."""
    several = answer.ndim > 1 and answer.shape[-2] >= MIN_ENTRIES
    found = several and _close(*_rows(answer)) and _apart(*_rows(expected))
    return WrongAnswerPattern.of("rows_equal") if found else None


def _heads_repeated(answer: Tensor, expected: Tensor) -> Pattern:
    """Recognize one repeated block of columns where no two neighbors should be equal."""
    for size in _block_sizes(answer):
        first, *others = torch.split(answer, size, -1)
        if all(_close(block, first) for block in others):
            pairs = (
                pair
                for width in _block_sizes(answer)
                for pair in itertools.pairwise(torch.split(expected, width, -1))
            )
            found = size > 1 and all(itertools.starmap(_apart, pairs))
            return WrongAnswerPattern.of("block_repeated", size=size) if found else None
    return None


def _rows_shifted(answer: Tensor, expected: Tensor) -> Pattern:
    """Recognize the right rows, shifted by one."""
    if answer.ndim <= 1 or answer.shape[-2] < MIN_ENTRIES:
        return None
    start, end = slice(None, -1), slice(1, None)
    for rows, source, key in (
        (end, start, "rows_shifted.before"),
        (start, end, "rows_shifted.after"),
    ):
        mine = answer[..., rows, :]
        if _close(mine, expected[..., source, :]) and _apart(mine, expected[..., rows, :]):
            return WrongAnswerPattern.of(key)
    return None


def _other_draw(answer: Tensor, expected: Tensor) -> Pattern:  # noqa: ARG001  # every heuristic has this signature
    """Recognize values that torch draws with a different seed, distribution or order."""
    if answer.ndim != 2 or not MIN_ENTRIES <= answer.numel() <= MAX_DRAWN:  # noqa: PLR2004  # weight matrices
        return None
    found = (answer - drawn(tuple(answer.shape))).abs() <= TYPED * scale_of(answer)
    places = found.flatten(1).all(1).nonzero()
    if not len(places):
        return None
    seed, name, turn = DRAWS[int(places[0])]
    return WrongAnswerPattern.of("other_draw", name=name, seed=seed, turn=_nth(turn))


@functools.lru_cache(maxsize=10)  # shapes; each result has at most 72 times `MAX_DRAWN` numbers
def drawn(shape: tuple[int, ...]) -> Tensor:
    """Return the results of all ``DRAWS``, in their order."""
    return torch.stack(
        [one for seed in SEEDS for draw in _DRAWS.values() for one in _turns(seed, draw, shape)]
    )


def _turns(seed: int, draw: Callable[..., Tensor], shape: tuple[int, ...]) -> list[Tensor]:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # `torch.manual_seed` formats stack traces
        return [draw(*shape).double() for _ in range(TURNS)]


FINITE: tuple[Heuristic, ...] = (  # for results, in the order in which they are tried
    _wrong_sums,
    _constant_factor,
    _rows_equal,
    _heads_repeated,
    _rows_shifted,
    _other_draw,
)
DRAWN: tuple[Heuristic, ...] = (_constant_factor, _other_draw)  # for parameters

BY_VERB: dict[str, Callable[[Any, Any], Pattern]] = {  # for answers that are dictionaries
    "gradients": _gradient_pattern,
    "parameters": _parameter_pattern,
}


def _block_sizes(tensor: Tensor) -> Iterator[int]:
    """Yield the sizes of equal blocks of columns, the smallest first."""
    width = tensor.shape[-1] if tensor.ndim else 0
    if tensor.numel() >= MIN_ENTRIES:
        yield from (size for size in range(1, width // 2 + 1) if width % size == 0)


def _constant(tensor: Tensor) -> bool:
    """Whether all entries may be equal, as in a tensor with one entry or none."""
    return not tensor.numel() or not _apart(tensor, tensor.flatten()[0].expand_as(tensor))


def _rows(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """Return *tensor*, and a copy in which every row is the first one."""
    return tensor, tensor[..., :1, :].expand_as(tensor)


def _close(left: Tensor, right: Tensor) -> bool:
    return agreement(left, right) is Agreement.SAME


def _apart(left: Tensor, right: Tensor) -> bool:
    """Whether two tensors certainly differ; undecided ones neither differ nor are equal."""
    return agreement(left, right) is Agreement.DIFFERENT


def _nth(index: int) -> str:
    return ("first", "second", "third", "fourth", "fifth")[index] if index < 5 else f"{index + 1}th"  # noqa: PLR2004  # five ordinals are words
