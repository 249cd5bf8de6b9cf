"""Defines the rounding noise between machines, and compares numbers with a margin for it.

A different processor, number of threads or build of torch rounds differently, so the last bits of a
result differ. Nothing is decided inside that noise: two results are the same, different or
undecided, and undecided results have no influence on a decision.

Distances are relative to the scale of a tensor: its largest absolute value, at least 1. The reason
is that a small entry has the noise of large terms if these cancel.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from enum import IntEnum
from functools import wraps
from itertools import chain
from typing import Any

import pytest
import torch
from torch import Tensor

from autograder.suite.student_proxy import RemoteModule

# Measured on right programs by `python -m benchmarks.kernels`:
NOISE = 1e-5  # at most 7.5e-6, after a softmax of large scores
PRINTED_NOISE = 5e-7  # on the small inputs of the documents, at most 2.7e-7
SAME = 2 * NOISE  # closer results are the same
APART = 10 * SAME  # results that are farther apart differ
LEAST_MARGIN = 2.0  # from a result to the bound of a check, in units of the noise
# The decimals of recorded numbers at scale 1:
EXPECTED_DIGITS = 6  # of expected answers: ten times finer than the noise; checks compare 4
EVIDENCE_DIGITS = 5  # of wrong programs: half a unit of the last place is less than the noise


class Agreement(IntEnum):
    """Whether two results are the same; of several comparisons, the lowest value counts."""

    DIFFERENT = 0
    UNDECIDED = 1
    SAME = 2

    @classmethod
    def of(cls, distance: float, scale: float) -> "Agreement":
        """Return whether numbers at this *distance* and *scale* are the same; NaN is different."""
        if distance <= SAME * scale:
            return cls.SAME
        return cls.UNDECIDED if distance <= APART * scale else cls.DIFFERENT


def agreement(left: Any, right: Any) -> Agreement:
    """Compare two answers, or two values of JSON; NaN agrees with NaN.

    A list and a tuple may agree, as in checks. A list of numbers has one scale, like a tensor. Two
    modules always agree, because checks compare their results.
    """
    match left, right:
        case Tensor(), Tensor():
            return _of_tensors(left.detach(), right.detach())
        case dict(), dict():
            names = (left.keys(), right.keys())
            return least_agreement(chain([names], ((left[key], right[key]) for key in left)))
        case (list() | tuple(), list() | tuple()):
            return _of_lists(left, right)
        case float(), float():
            return _of_numbers(left, right, max([1.0, *_finite((left, right))]))
        case RemoteModule(), RemoteModule():
            return Agreement.SAME
    sets = all(isinstance(one, set | frozenset) for one in (left, right))
    same = (sets or type(left) is type(right)) and bool(left == right)
    return Agreement.SAME if same else Agreement.DIFFERENT


def is_same(left: Any, right: Any) -> bool:
    """Whether two answers are certainly the same."""
    return agreement(left, right) is Agreement.SAME


def rounded(number: float, scale: float, digits: int) -> float | str:
    """Round *number* for JSON; *digits* is the number of decimals at a *scale* of 1.

    NaN and infinities, which JSON lacks, become texts.
    """
    if not math.isfinite(number):
        return str(number)
    places = digits - math.floor(math.log10(max(scale, abs(number))))
    return round(number, places) + 0.0  # no -0.0


def scale_of(*tensors: Tensor) -> float:
    """Return the largest finite absolute value, at least 1."""
    known = (one.detach().abs() for one in tensors if one.numel())
    largest = (float(one.nan_to_num(0, 0, 0).max()) for one in known)
    return max([1.0, *largest])


def least_agreement(pairs: Iterable[tuple[Any, Any]]) -> Agreement:
    """Return the lowest agreement of *pairs*; stop at the first pair that is different."""
    least = Agreement.SAME
    for left, right in pairs:
        least = min(least, agreement(left, right))
        if least is Agreement.DIFFERENT:
            break
    return least


def _of_tensors(left: Tensor, right: Tensor) -> Agreement:
    if left.shape != right.shape or left.dtype != right.dtype:
        return Agreement.DIFFERENT
    if torch.equal(left, right):  # faster than the comparison below
        return Agreement.SAME
    if not (left.is_floating_point() or left.is_complex()):
        return Agreement.DIFFERENT
    wide = torch.complex128 if left.is_complex() else torch.float64  # torch can't compare float8
    mine, theirs = left.to(wide), right.to(wide)
    equal = (mine == theirs) | (mine.isnan() & theirs.isnan())
    apart = (mine - theirs).abs().masked_fill(equal, 0)
    return Agreement.of(float(apart.max()), scale_of(mine, theirs))


def _of_lists(left: Sequence[Any], right: Sequence[Any]) -> Agreement:
    if len(left) != len(right):
        return Agreement.DIFFERENT
    scale = max([1.0, *_finite(left), *_finite(right)])
    least = Agreement.SAME
    for mine, other in zip(left, right, strict=True):
        numbers = isinstance(mine, float) and isinstance(other, float)
        found = _of_numbers(mine, other, scale) if numbers else agreement(mine, other)
        if found is Agreement.DIFFERENT:
            return found
        least = min(least, found)
    return least


def _of_numbers(left: float, right: float, scale: float) -> Agreement:
    if left == right or (math.isnan(left) and math.isnan(right)):  # also for infinities
        return Agreement.SAME
    return Agreement.of(abs(left - right), scale)


def _finite(values: Sequence[Any]) -> list[float]:
    return [abs(one) for one in values if isinstance(one, float) and math.isfinite(one)]


def varies(numbers: Tensor) -> bool:
    """Whether the finite *numbers* certainly differ by more than noise."""
    finite = numbers.detach()[numbers.detach().isfinite()]
    if not finite.numel() or not torch.is_floating_point(finite):
        return bool((finite != finite[:1]).any())
    finite = finite.double()
    return float(finite.max() - finite.min()) > max(SAME, APART * float(finite.abs().max()))


_margins: ContextVar[list[float] | None] = ContextVar("margins", default=None)


@contextmanager
def watching_bounds(*, on: bool = True) -> Iterator[list[float]]:
    """Collect the distances of compared results from the bounds of their checks, if *on* is true.

    The unit is the noise. A negative distance is beyond the bound, and rounding may decide the
    outcome near zero. The distance between the two largest numbers of an ``argmax`` (or the two
    smallest of an ``argmin``) is collected, too, because rounding may decide which one is chosen.
    """
    margins: list[float] = []
    token = _margins.set(margins if on else None)
    try:
        with _watching_choices() if on else nullcontext():
            yield margins
    finally:
        _margins.reset(token)


@contextmanager
def _watching_choices() -> Iterator[None]:
    """Note the margin of each choice of the code that runs here."""
    with pytest.MonkeyPatch.context() as patch:
        for place in (torch, Tensor):
            patch.setattr(place, "argmax", _noting(place.argmax, sign=1))
            patch.setattr(place, "argmin", _noting(place.argmin, sign=-1))
        yield


def _noting(choose: Callable[..., Tensor], sign: int) -> Callable[..., Tensor]:
    """Return *choose*, a function of torch, so that it also notes the margin of its choice."""

    @wraps(choose)
    def chosen(*args: Any, **kwargs: Any) -> Tensor:
        found = choose(*args, **kwargs)
        numbers = args[0] if args else kwargs["input"]
        axis = kwargs.get("dim", kwargs.get("axis", args[1] if len(args) > 1 else None))
        if numbers.is_floating_point():
            _note_choice(numbers.detach().double() * sign, axis)
        return found

    return chosen


def _note_choice(numbers: Tensor, axis: int | None) -> None:
    """Store the smallest distance between the two largest *numbers* along *axis*, or of all.

    Equal numbers may have been computed in the same way, and then they are equal on every machine.
    So their margin is the least one that counts as decided.
    """
    rows = numbers.flatten() if axis is None else numbers.movedim(axis, -1)
    margins = _margins.get()
    if margins is not None and rows.shape[-1:] > (1,):
        first, second = rows.topk(2).values.unbind(-1)
        apart = (first - second).nan_to_num(nan=torch.inf) / (NOISE * scale_of(numbers))
        margins.append(float(apart.masked_fill(apart == 0, LEAST_MARGIN).min()))


def note_margin(apart: Tensor, bound: Tensor, expected: Tensor, noise: float = NOISE) -> None:
    """Store the smallest distance of the entries of *apart* from their *bound*.

    *apart* holds the distances from *expected*. Exact numbers have a bound of zero and no noise, so
    nothing is stored for them.
    """
    margins = _margins.get()
    if margins is not None and apart.numel() and float(bound.max()):
        units = noise * expected.abs().nan_to_num(0, 0, 0).clamp(min=1)
        margins.append(float(((bound - apart) / units).nan_to_num(nan=-torch.inf).min()))
