"""A documented tensor beside the student's, cell by cell, as pages and terminals lay it out."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from autograder.results import Grid


@dataclass(frozen=True)
class Cell:
    """One entry: its digits, whether it is wrong, and how large it is from 0 to 1."""

    text: str
    wrong: bool = False
    shade: float = 0.0


@dataclass(frozen=True)
class Row:
    """One row; *head* is empty for a vector, which has nothing to tell rows apart."""

    head: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Panel:
    """One of three: *shaded* where each cell stands for a pair of tokens, as in weights."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    shaded: bool


def panels(grid: Grid) -> tuple[Panel, Panel, Panel]:
    """Lay out *grid* as expected, yours and difference; axes without words count from 0."""
    pairs = bool(grid.rows and grid.columns)
    shades = (_shades(grid.expected, grid.expected), _shades(grid.yours, grid.expected))
    right = [[False] * len(row) for row in grid.expected]
    flat = [[0.0] * len(row) for row in grid.expected]
    return (
        _panel("Expected", grid, grid.expected, right, shades[0] if pairs else flat, shaded=pairs),
        _panel("Yours", grid, grid.yours, grid.wrong, shades[1] if pairs else flat, shaded=pairs),
        _panel("Difference", grid, grid.difference, grid.wrong, flat, shaded=False),
    )


def _panel(
    title: str,
    grid: Grid,
    entries: Sequence[Sequence[str]],
    wrong: Sequence[Sequence[bool]],
    shades: Sequence[Sequence[float]],
    *,
    shaded: bool,
) -> Panel:
    width = len(grid.expected[0]) if grid.expected else 0
    rows = (
        Row(_head(grid, index), tuple(map(Cell, *row)))
        for index, row in enumerate(zip(entries, wrong, shades, strict=False))
    )
    columns = grid.columns or tuple(str(index) for index in range(width))
    return Panel(title, columns, tuple(rows), shaded)


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
