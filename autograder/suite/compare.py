"""Comparing what a student's code answered with what it should have answered.

The order is fixed, so that the message names the first thing that is wrong: type, shape, dtype,
finite, values. Nothing is compared by relative error: printed digits know no ratio.
"""

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from autograder.results import Status
from autograder.sandbox.protocol import OpaqueValue
from autograder.suite.checks import WrongAnswer
from autograder.suite.tensor_grid import grid

FLOAT_NOISE = 1e-5  # float32 on values of order one, in any order of summation: measured below 1e-6
PROBE_ATOL = 1e-4  # orders above what einsum, loops or float64 inside differ by (1e-6), and
PROBE_RTOL = 1e-4  # orders below the least wrong formula (0.36 on loud inputs, curriculum.md 3)


def agrees(actual: object, expected: Tensor, what: str = "The result") -> None:
    """Compare with a computed tensor: same shape, same dtype, values within float32's noise."""
    answer = tensor_like(actual, tuple(expected.shape), what)
    same_dtype(answer, expected.dtype, what)
    wanted = expected.detach()
    finite_like(answer, wanted, what)
    if wanted.dtype is torch.bool:  # torch subtracts no truth values
        answer, wanted = answer.int(), wanted.int()
    _close(answer, wanted, PROBE_ATOL + PROBE_RTOL * wanted.abs().nan_to_num(0, 0, 0), what)


def matches_printed(
    actual: object,
    value: Tensor,
    atol: float,
    what: str,
    decimals: int = 4,
    tokens: Sequence[str] = (),
) -> None:
    """Compare with printed digits; *atol* is absolute, there is no relative part.

    Small tensors are shown side by side, axes with one entry per token named by *tokens*.
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
        wrong.grid = grid(answer, value, apart, decimals, tokens)
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
    """Return *actual* as a tensor of *shape*, or fail the check saying what it is instead."""
    answer = tensor(actual, what)
    if tuple(answer.shape) != shape:
        sentence = f"{what} has shape {tuple(answer.shape)}; it should have {shape}."
        public = f"{what} has {answer.ndim} axes of which at least one has the wrong size."
        if answer.ndim != len(shape):
            public = f"{what} has {answer.ndim} axes; it should have {len(shape)}."
        raise WrongAnswer(Status.WRONG_SHAPE, sentence, public=public)
    return answer


def tensor(actual: object, what: str = "The result") -> Tensor:
    """Return *actual* if it is a tensor, or fail the check saying what it is instead."""
    if isinstance(actual, Tensor):
        return actual.detach()
    kind = actual.kind if isinstance(actual, OpaqueValue) else type(actual).__name__
    hint = " Does the function end without `return`?" if actual is None else ""
    sentence = f"{what} is {_a(kind)}; it should be a torch.Tensor.{hint}"
    raise WrongAnswer(Status.WRONG_TYPE, sentence, public=f"{what} is no torch.Tensor.{hint}")


def number(actual: object, what: str = "The result") -> float:
    """Return *actual* as a float: a Python number or a tensor of no axis."""
    if type(actual) in {int, float}:
        return float(actual)  # type: ignore[arg-type]  # exact types, checked above
    if not isinstance(actual, Tensor):
        kind = actual.kind if isinstance(actual, OpaqueValue) else type(actual).__name__
        raise WrongAnswer(Status.WRONG_TYPE, f"{what} is {_a(kind)}; it should be one number.")
    answer = actual.detach()
    if answer.numel() != 1 or answer.ndim:
        sentence = f"{what} has shape {tuple(answer.shape)}; it should be one number."
        raise WrongAnswer(Status.WRONG_SHAPE, sentence)
    return float(answer)


def number_agrees(actual: object, expected: float, atol: float, what: str = "The result") -> None:
    """Compare one number with *expected*."""
    answer = number(actual, what)
    if math.isnan(answer) or abs(answer - expected) > atol:
        sentence = f"{what} is {answer:.4f}; it should be {expected:.4f}."
        raise WrongAnswer(Status.WRONG_VALUE, sentence, public=f"{what} is another number.")


def same_dtype(answer: Tensor, dtype: torch.dtype, what: str) -> None:
    """Fail the check unless *answer* has *dtype*."""
    if answer.dtype != dtype:
        sentence = f"{what} has dtype {_short(answer.dtype)}; it should have {_short(dtype)}."
        raise WrongAnswer(Status.WRONG_TYPE, sentence)


def finite_like(answer: Tensor, expected: Tensor, what: str) -> None:
    """Fail the check if *answer* is NaN or infinite where *expected* is not."""
    if not answer.is_floating_point() or not expected.is_floating_point():
        return
    strange = ~answer.isfinite() & (answer != expected)
    if strange.any():
        kinds = "NaN" if answer.isnan().any() else "infinite"
        sentence = f"{what} holds {kinds} numbers{_rows(strange)}."
        raise WrongAnswer(Status.NOT_FINITE, sentence)


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
        raise WrongAnswer(Status.WRONG_VALUE, sentence, public=f"{what} has other values.")


def _rows(wrong: Tensor) -> str:
    """Say in which rows entries are wrong, where that tells something."""
    if wrong.ndim < 2 or wrong.all():  # noqa: PLR2004  # a vector has no rows
        return ""
    rows = sorted(set(wrong.nonzero()[:, -2].tolist()))
    if len(rows) == wrong.shape[-2]:
        return ""
    return f" (row{'s' if len(rows) > 1 else ''} {_listed(rows)})"


def _listed(rows: Iterable[int]) -> str:
    shown = [str(row) for row in rows]
    return ", ".join(shown[:6]) + (", …" if len(shown) > 6 else "")  # noqa: PLR2004  # a line's worth


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _a(kind: str) -> str:
    return kind if kind == "NoneType" or kind.startswith(("a ", "an ")) else f"of type {kind}"
