"""Lays out a documented tensor beside the student's, for pages and terminals."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from autograder.results import Grid


@dataclass(frozen=True)
class TensorCell:
    """One entry: its digits, whether it is wrong, and how large it is from 0 to 1."""

    text: str
    wrong: bool = False
    shade: float = 0.0


@dataclass(frozen=True)
class TensorRow:
    """One row; *head* is empty for a vector, which has only one."""

    head: str
    cells: tuple[TensorCell, ...]


@dataclass(frozen=True)
class TensorTable:
    """One of three tables: *shaded* where each cell belongs to a pair of tokens, as in weights."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[TensorRow, ...]
    shaded: bool


def tensor_tables(grid: Grid) -> tuple[TensorTable, TensorTable, TensorTable]:
    """Lay out *grid* as expected, yours and difference; axes without tokens count from 0."""
    shaded = bool(grid.rows and grid.columns)
    unshaded = [[0.0] * len(row) for row in grid.expected]
    expected, yours = (
        _shades(entries, grid.expected) if shaded else unshaded
        for entries in (grid.expected, grid.yours)
    )
    right = [[False] * len(row) for row in grid.expected]
    return (
        _table("Expected", grid, grid.expected, right, expected, shaded=shaded),
        _table("Yours", grid, grid.yours, grid.wrong, yours, shaded=shaded),
        _table("Difference", grid, grid.difference, grid.wrong, unshaded, shaded=False),
    )


def _table(
    title: str,
    grid: Grid,
    entries: Sequence[Sequence[str]],
    wrong: Sequence[Sequence[bool]],
    shades: Sequence[Sequence[float]],
    *,
    shaded: bool,
) -> TensorTable:
    width = len(grid.expected[0]) if grid.expected else 0
    rows = (
        TensorRow(_head(grid, index), tuple(map(TensorCell, *row)))
        for index, row in enumerate(zip(entries, wrong, shades, strict=False))
    )
    columns = grid.columns or tuple(str(index) for index in range(width))
    return TensorTable(title, columns, tuple(rows), shaded)


def _head(grid: Grid, index: int) -> str:
    if index < len(grid.rows):
        return grid.rows[index]
    return str(index) if len(grid.expected) > 1 else ""


def _shades(entries: Sequence[Sequence[str]], scale: Sequence[Sequence[str]]) -> list[list[float]]:
    """Place each entry between the smallest (or 0) and the largest number of *scale*."""
    known = [number for row in scale for number in map(_number, row) if isfinite(number)]
    low, high = min([0.0, *known]), max([0.0, *known])
    span = high - low or 1.0
    return [[_share(_number(entry), low, span) for entry in row] for row in entries]


def _share(number: float, low: float, span: float) -> float:
    return round(min(1.0, max(0.0, (number - low) / span)), 2) if isfinite(number) else 0.0


def _number(entry: str) -> float:
    try:
        return float(entry)
    except ValueError:
        return float("nan")
