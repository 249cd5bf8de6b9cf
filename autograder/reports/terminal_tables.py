"""Formats numbers for the terminal: tensors side by side, and pictures of weights."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from rich.cells import cell_len
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from autograder.course_file import CAPTION, Picture
from autograder.reports.tensor_tables import TensorCell, TensorTable

SHADES = " ░▒▓█"
BLOCK = 3  # columns of a shaded cell, so that it is about square
PICTURE_CELL = BLOCK + 5  # columns of a shaded cell with its number
SMALL_CELL = 4  # for pictures side by side: a shade and .32, or -.32
ALMOST_ONE = 0.995  # larger numbers are shown as 1.0
GAP = 3  # columns between pictures
FAINTEST = 0.005  # smaller numbers are shown as 0.00 in an empty cell


def picture_parts(
    title: str, picture: Picture, weights: Sequence[Sequence[float]], width: int
) -> Iterator[RenderableType]:
    """Yield attention *weights* as shaded cells, with digits if they fit into *width* columns."""
    rows, columns = picture.tokens, picture.columns
    head = max(map(cell_len, rows))
    digits = head + len(columns) * (PICTURE_CELL + 1) <= width
    cell = PICTURE_CELL if digits else BLOCK
    yield Text(title, style="bold")
    yield _picture(picture, weights, cell, BLOCK)
    yield Text(picture.caption, "dim")


def pictures_parts(
    pictures: Mapping[str, Sequence[Sequence[float]]], picture: Picture, width: int
) -> Iterator[RenderableType]:
    """Yield several pictures with titles, side by side if digits fit into *width* columns."""
    rows, columns = picture.tokens, picture.columns
    head = max(map(cell_len, rows))
    small = head + len(columns) * (SMALL_CELL + 1)
    if len(pictures) * (small + GAP) - GAP <= width:
        block, cell = 1, SMALL_CELL
    elif head + len(columns) * (PICTURE_CELL + 1) <= width:
        block, cell = BLOCK, PICTURE_CELL
    else:
        block, cell = (1, SMALL_CELL) if small <= width else (1, 1)
    yield Columns(
        [
            Group(Text(title, style="bold"), _picture(picture, weights, cell, block))
            for title, weights in pictures.items()
        ],
        padding=(0, GAP),
    )
    yield Text(picture.caption, "dim")


def _picture(picture: Picture, weights: Sequence[Sequence[float]], cell: int, block: int) -> Table:
    """Return a table of *weights* in cells of *cell* columns, of which *block* are shaded."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True, justify="right")
    for column in picture.columns:
        table.add_column(Text(column[:cell], style="dim"), no_wrap=True)
    most = max([entry for entries in weights for entry in entries if isfinite(entry)], default=1.0)
    for row, entries in zip(picture.tokens, weights, strict=True):
        table.add_row(Text(row), *(_shaded(entry, most, cell, block) for entry in entries))
    return table


def _shaded(entry: float, most: float, cell: int, block: int) -> Text:
    """Return *entry* as a cell, shaded by its share of the largest one, *most*, with digits."""
    is_empty = not isfinite(entry) or entry < FAINTEST
    shade = SHADES[0 if is_empty else max(1, round(entry / most * (len(SHADES) - 1)))]
    shaded = shade * block
    number = f"{entry:{cell - block}.2f}" if cell > block else ""
    if len(number) > cell - block:
        number = _short(entry)
        shaded = "" if len(number) == cell else shaded
    return Text.assemble((shaded, "cyan"), (number, "dim" if is_empty else ""))


def _short(entry: float) -> str:
    """Return *entry* in at most three characters and a sign: .32, 1.0, -.32."""
    number = f"{entry:.2f}"
    return number.replace("0.", ".", 1) if abs(entry) < ALMOST_ONE else f"{entry:.1f}"


def tensor_parts(tables: Sequence[TensorTable], width: int) -> Iterator[RenderableType]:
    """Yield *tables* side by side if they fit, else below each other."""
    yield Columns([Group(*_table(table, width)) for table in tables], padding=(1, 4))
    shades = f" {CAPTION}" if tables[0].shaded else ""
    yield Text(f"* marks wrong entries.{shades}", style="dim")


def _table(tensor: TensorTable, width: int) -> Iterator[RenderableType]:
    """Yield a table, divided into tables of fewer columns if it is too wide."""
    if tensor.title:
        yield Text(tensor.title, style="bold")
    cells = [[_cell(cell, shaded=tensor.shaded) for cell in row.cells] for row in tensor.rows]
    widths = [
        1 + max(cell_len(column) + 1, *(row[index].cell_len for row in cells))
        for index, column in enumerate(tensor.columns)
    ]
    head = max((cell_len(row.head) for row in tensor.rows), default=0)
    names = [Text(f"{column} ", style="bold dim") for column in tensor.columns]
    heads = [Text(row.head, style="dim") for row in tensor.rows]
    for start, stop in _cuts(widths, width - head):
        rows = zip([Text(), *heads], [names, *cells], strict=True)
        lines = (_row(name, texts[start:stop], head, widths[start:stop]) for name, texts in rows)
        yield Text("\n", no_wrap=True).join(lines)  # several times as fast as a rich Table


def _row(name: Text, texts: Sequence[Text], head: int, widths: Sequence[int]) -> Text:
    """Align *name* to the left in *head* columns, and *texts* to the right in *widths*."""
    row = Text.assemble(name, " " * (head - name.cell_len))
    for text, width in zip(texts, widths, strict=True):
        row.append(" " * (width - text.cell_len)).append_text(text)
    return row


def _cuts(widths: Sequence[int], width: int) -> Iterator[tuple[int, int]]:
    start = 0
    for index in range(1, len(widths)):
        if sum(widths[start : index + 1]) > width:
            yield start, index
            start = index
    yield start, len(widths)


def _cell(cell: TensorCell, *, shaded: bool) -> Text:
    shade = SHADES[round(cell.shade * (len(SHADES) - 1))] if shaded else ""
    text = f"{shade}{cell.text}{'*' if cell.wrong else ' '}"
    return Text(text, style="bold red" if cell.wrong else "")
