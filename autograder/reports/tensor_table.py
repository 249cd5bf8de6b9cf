"""Lays out a documented tensor beside the student's, for pages and terminals."""

from collections.abc import Sequence
from math import isfinite

import msgspec

from autograder.results import Grid


class TensorCell(msgspec.Struct, frozen=True):
    """One entry: its digits, whether it is wrong, and how large it is from 0 to 1."""

    text: str
    wrong: bool = False
    shade: float = 0.0


class TensorRow(msgspec.Struct, frozen=True):
    """One row; *head* is empty for a vector, which has only one."""

    head: str
    cells: tuple[TensorCell, ...]


class TensorTable(msgspec.Struct, frozen=True):
    """One of three tables: *shaded* where each cell belongs to a pair of tokens, as in weights."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[TensorRow, ...]
    shaded: bool


def tensor_tables(grid: Grid) -> tuple[TensorTable, TensorTable, TensorTable]:
    """Lay out *grid* as expected, yours and difference; axes without tokens count from 0."""
    shaded = bool(grid.rows and grid.columns)
    right = [[False] * len(row) for row in grid.expected]
    return (
        _table("Expected", grid, grid.expected, right, shaded=shaded),
        _table("Yours", grid, grid.yours, grid.wrong, shaded=shaded),
        _table("Difference", grid, grid.difference, grid.wrong, shaded=False),
    )


def _table(
    title: str,
    grid: Grid,
    entries: Sequence[Sequence[str]],
    wrong: Sequence[Sequence[bool]],
    *,
    shaded: bool,
) -> TensorTable:
    scale = [_number(entry) for row in grid.expected for entry in row] if shaded else []
    rows = []
    for index, (row, flags) in enumerate(zip(entries, wrong, strict=False)):
        shades = [_shade(_number(entry), scale) if shaded else 0.0 for entry in row]
        rows.append(TensorRow(_head(grid, index), tuple(map(TensorCell, row, flags, shades))))
    columns = grid.columns or tuple(map(str, range(len(grid.expected[0]) if grid.expected else 0)))
    return TensorTable(title, columns, tuple(rows), shaded)


def _head(grid: Grid, index: int) -> str:
    if index < len(grid.rows):
        return grid.rows[index]
    return str(index) if len(grid.expected) > 1 else ""


def _shade(number: float, scale: Sequence[float]) -> float:
    """Place *number* between the smallest (or 0) and the largest one of *scale*."""
    if not isfinite(number):
        return 0.0
    known = [0.0, *filter(isfinite, scale)]
    share = (number - min(known)) / (max(known) - min(known) or 1.0)
    return round(min(1.0, max(0.0, share)), 2)


def _number(entry: str) -> float:
    try:
        return float(entry)
    except ValueError:
        return float("nan")
