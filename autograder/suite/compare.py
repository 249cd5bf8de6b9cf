"""Compares the answer of a student's code with the expected one.

The order is fixed, so that the message names the first thing that is wrong: type, shape, dtype,
NaN or infinity, values. Computed values are compared by absolute and relative error; printed
digits by absolute error only, since the last printed place is as wide for every number.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from autograder.results import MAX_SIDE, Grid, Status
from autograder.sandbox.protocol import OpaqueValue
from autograder.suite.checks import WrongAnswer, expect

FLOAT_NOISE = 1e-5  # float32 on values of order one, in any order of summation: measured below 1e-6
# On hidden inputs, far above what einsum, loops or float64 inside change (1e-6), and far below what
# the least wrong formula changes (0.36 on inputs that are not small):
PROBE_ATOL = 1e-4
PROBE_RTOL = 1e-4


def agrees(actual: object, expected: Tensor, what: str = "The result") -> None:
    """Compare with a computed tensor: same shape, same dtype, values equal up to float32 noise."""
    answer = tensor_like(actual, tuple(expected.shape), what)
    same_dtype(answer, expected.dtype, what)
    wanted = expected.detach()
    finite_like(answer, wanted, what)
    if wanted.dtype is torch.bool:  # torch can't subtract booleans
        answer, wanted = answer.int(), wanted.int()
    _close(answer, wanted, PROBE_ATOL + PROBE_RTOL * wanted.abs().nan_to_num(0, 0, 0), what)


def matches_printed(
    actual: object, value: Tensor, atol: float, what: str, decimals: int, tokens: Sequence[str] = ()
) -> None:
    """Compare with printed digits: values may differ by *atol*, and by no relative error.

    Small tensors are shown side by side; *tokens* names the entries of an axis of that length.
    """
    answer = tensor_like(actual, tuple(value.shape), what)
    if value.is_floating_point():
        same_dtype(answer, torch.float32, what)
    elif answer.is_complex():
        same_dtype(answer, value.dtype, what)
    finite_like(answer, value, what)
    try:
        _close(answer.double(), value.double(), torch.as_tensor(atol), what)
    except WrongAnswer as wrong:
        apart = ~(((answer - value).abs() <= atol) | (answer == value))
        wrong.grid = side_by_side(answer, value, apart, decimals, tokens)
        raise


def reads_like(
    actual: object, printed: object, decimals: int = 4, what: str = "The result"
) -> None:
    """Compare with digits printed in a document, given as a number or nested lists."""
    value = torch.tensor(printed, dtype=torch.float32)
    atol = 0.5 * 10.0**-decimals + FLOAT_NOISE
    if value.ndim:
        matches_printed(actual, value, atol, what, decimals)
    else:
        number_agrees(actual, float(value), atol, what)


def tensor_like(actual: object, shape: tuple[int, ...], what: str = "The result") -> Tensor:
    """Return *actual* as a tensor of *shape*, or fail the check and say what it is instead."""
    answer = tensor(actual, what)
    if tuple(answer.shape) != shape:
        sentence = f"{what} has shape {tuple(answer.shape)}; it should have {shape}."
        public = f"{what} has {answer.ndim} axes of which at least one has the wrong size."
        if answer.ndim != len(shape):
            public = f"{what} has {answer.ndim} axes; it should have {len(shape)}."
        raise WrongAnswer(Status.WRONG_SHAPE, sentence, public=public)
    return answer


def tensor(actual: object, what: str = "The result") -> Tensor:
    """Return *actual* if it is a tensor, or fail the check and say what it is instead."""
    if isinstance(actual, Tensor):
        return actual.detach()
    hint = " Does the function end without `return`?" if actual is None else ""
    sentence = f"{what} is {_kind(actual)}; it should be a torch.Tensor.{hint}"
    raise WrongAnswer(Status.WRONG_TYPE, sentence, public=f"{what} is not a torch.Tensor.{hint}")


def number(actual: object, what: str = "The result") -> float:
    """Return *actual* as a float: a Python number or a tensor without axes."""
    if type(actual) in {int, float}:
        return float(actual)  # type: ignore[arg-type]  # exact types, checked above
    if not isinstance(actual, Tensor):
        raise WrongAnswer(Status.WRONG_TYPE, f"{what} is {_kind(actual)}; it should be one number.")
    sentence = f"{what} has shape {tuple(actual.shape)}; it should be one number."
    expect(not actual.ndim, sentence, Status.WRONG_SHAPE)
    return float(actual.detach())


def number_agrees(actual: object, expected: float, atol: float, what: str = "The result") -> None:
    """Compare one number with *expected*."""
    answer = number(actual, what)
    if math.isnan(answer) or abs(answer - expected) > atol:
        sentence = f"{what} is {answer:.4f}; it should be {expected:.4f}."
        public = f"{what} is not the expected number."
        raise WrongAnswer(Status.WRONG_VALUE, sentence, public=public)


def same_dtype(answer: Tensor, dtype: torch.dtype, what: str) -> None:
    """Fail the check unless *answer* has *dtype*."""
    sentence = f"{what} has dtype {_short(answer.dtype)}; it should have {_short(dtype)}."
    expect(answer.dtype == dtype, sentence, Status.WRONG_TYPE)


def finite_like(answer: Tensor, expected: Tensor, what: str) -> None:
    """Fail the check if *answer* is NaN or infinite where *expected* is not."""
    if not answer.is_floating_point() or not expected.is_floating_point():
        return
    wrong = ~answer.isfinite() & (answer != expected)
    kind = "NaN" if answer.isnan().any() else "infinite values"
    expect(not wrong.any(), f"{what} contains {kind}{_rows(wrong)}.", Status.NOT_FINITE)


def side_by_side(
    answer: Tensor, expected: Tensor, wrong: Tensor, decimals: int, tokens: Sequence[str] = ()
) -> Grid | None:
    """Lay out a matrix, or a vector as one row; ``None`` if it is too large to compare by eye.

    *tokens* names the entries of an axis of that length.
    """
    if not 0 < expected.ndim <= 2 or max(expected.shape) > MAX_SIDE or not expected.numel():  # noqa: PLR2004  # rows and columns
        return None
    if answer.is_complex() or expected.is_complex():
        return None
    one_row = expected.ndim == 1
    left, right, bad = (item[None] if one_row else item for item in (answer, expected, wrong))
    return Grid(
        expected=_digits(right, decimals),
        yours=_digits(left, decimals),
        difference=_digits(left.double() - right.double(), decimals),
        wrong=tuple(tuple(row) for row in bad.tolist()),
        rows=_labels(right.shape[0], tokens) if not one_row else (),
        columns=_labels(right.shape[1], tokens),
    )


def _digits(rows: Tensor, decimals: int) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(f"{value:.{decimals}f}" for value in row) for row in rows.tolist())


def _labels(size: int, tokens: Sequence[str]) -> tuple[str, ...]:
    return tuple(tokens) if size == len(tokens) else ()


def _close(answer: Tensor, expected: Tensor, atol: Tensor, what: str) -> None:
    apart = (answer - expected).abs()
    wrong = ~((apart <= atol) | (answer == expected))  # NaN is wrong; equal infinities are right
    if wrong.any():
        worst = float(apart.nan_to_num(torch.inf).max())
        count = int(wrong.sum())
        sentence = (
            f"{what} differs from the expected values in {count} of {wrong.numel()} entries"
            f"{_rows(wrong)}, by up to {worst:.4f}."
        )
        error = WrongAnswer(Status.WRONG_VALUE, sentence, public=f"{what} has wrong values.")
        decimals = 4 if expected.is_floating_point() else 0
        error.public_suite_grid = side_by_side(answer, expected, wrong, decimals)
        raise error


def _rows(wrong: Tensor) -> str:
    """Name the rows with wrong entries, unless every row has some."""
    rows = sorted(set(wrong.nonzero()[:, -2].tolist())) if wrong.ndim > 1 else []  # no vector's
    if not rows or len(rows) == wrong.shape[-2]:
        return ""
    shown = ", ".join(map(str, rows[:6])) + (", …" if len(rows) > 6 else "")  # noqa: PLR2004  # they fit in a line
    return f" (row{'s' if len(rows) > 1 else ''} {shown})"


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _kind(actual: object) -> str:
    kind = actual.kind if isinstance(actual, OpaqueValue) else type(actual).__name__
    return kind if kind == "NoneType" or kind.startswith(("a ", "an ")) else f"of type {kind}"
