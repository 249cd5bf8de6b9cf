"""Makes the tables of a failed check: the expected numbers, the student's, and the difference."""

from collections.abc import Sequence
from math import isfinite

import msgspec
from msgspec.structs import replace

from autograder.results import Grid


class TensorCell(msgspec.Struct, frozen=True):
    """One entry of a tensor; *shade* is its size from 0 to 1."""

    text: str
    wrong: bool = False
    shade: float = 0.0


class TensorRow(msgspec.Struct, frozen=True):
    """One row of a tensor; *head* is empty for a vector, which has only one row."""

    head: str
    cells: tuple[TensorCell, ...]


class TensorTable(msgspec.Struct, frozen=True):
    """One table; *shaded* is true if each cell belongs to a pair of tokens, as in weights."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[TensorRow, ...]
    shaded: bool


def tensor_tables(grid: Grid) -> tuple[TensorTable, ...]:
    """Return the tables Expected, Yours and, for numbers, Difference.

    Another result of the student's code is not expected: the two must be equal.
    """
    shaded = bool(grid.rows and grid.columns)
    right = [[False] * len(row) for row in grid.expected]
    tables = [
        _table("Must equal" if grid.own else "Expected", grid, grid.expected, right, shaded=shaded),
        _table("Yours", grid, grid.yours, grid.wrong, shaded=shaded),
    ]
    if grid.difference:
        tables.append(_table("Difference", grid, grid.difference, grid.wrong, shaded=False))
    return tuple(tables)


def first_wrong_row(tables: Sequence[TensorTable]) -> TensorTable:
    """Return a table with the first wrong row of each of *tables*."""
    count = min(len(table.rows) for table in tables)
    wrong = (
        n for n in range(count) if any(cell.wrong for one in tables for cell in one.rows[n].cells)
    )
    index = next(wrong, 0)
    head = tables[0].rows[index].head
    rows = tuple(replace(table.rows[index], head=table.title) for table in tables)
    title = f"The first wrong row: {head}" if head else ""
    return replace(tables[0], title=title, rows=rows, shaded=False)


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
        shades = [shade(_number(entry), scale) if shaded else 0.0 for entry in row]
        rows.append(TensorRow(_head(grid, index), tuple(map(TensorCell, row, flags, shades))))
    start = grid.corner[1]
    count = len(grid.expected[0]) if grid.expected else 0
    columns = grid.columns or tuple(map(str, range(start, start + count)))
    return TensorTable(title + grid.part, columns, tuple(rows), shaded)


def _head(grid: Grid, index: int) -> str:
    if index < len(grid.rows):
        return grid.rows[index]
    return str(grid.corner[0] + index) if len(grid.expected) > 1 else ""


def shade(number: float, scale: Sequence[float]) -> float:
    """Return the position of *number*, from 0 to 1, in the range of *scale* and 0."""
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
