"""Small tensors side by side: expected, yours, and their difference, as the digits of a print."""

from collections.abc import Sequence

from torch import Tensor

from autograder.results import Grid

MAX_SIDE = 8  # what a page shows at once and an eye compares


def grid(
    answer: Tensor, expected: Tensor, wrong: Tensor, decimals: int, tokens: Sequence[str] = ()
) -> Grid | None:
    """Lay out a matrix, or a vector as one row; ``None`` for what is too large to look at.

    An axis with one entry per token is named by *tokens*.
    """
    if not 0 < expected.ndim <= 2 or max(expected.shape) > MAX_SIDE or not expected.numel():  # noqa: PLR2004  # rows and columns
        return None
    one_row = expected.ndim == 1
    left, right, bad = (item[None] if one_row else item for item in (answer, expected, wrong))
    return Grid(
        expected=_digits(right, decimals),
        yours=_digits(left, decimals),
        difference=_digits(left.double() - right.double(), decimals),
        wrong=tuple(tuple(row) for row in bad.tolist()),
        rows=_named(right.shape[0], tokens) if not one_row else (),
        columns=_named(right.shape[1], tokens),
    )


def _digits(rows: Tensor, decimals: int) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(f"{value:.{decimals}f}" for value in row) for row in rows.tolist())


def _named(size: int, tokens: Sequence[str]) -> tuple[str, ...]:
    return tuple(tokens) if size == len(tokens) else ()
