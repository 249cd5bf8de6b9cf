"""Fits the parts of a screen into the rows of a terminal, by shrinking unimportant ones first."""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from rich.console import Console, RenderableType
from rich.segment import SegmentLines
from rich.text import Text

from autograder.reports.terminal import console, render

Renderables = tuple[RenderableType, ...]
BLANK = ""  # an empty row


class Rank(IntEnum):
    """The order in which layouts are replaced by smaller ones, the lowest rank first."""

    LATER = 0  # problems of exercises after the first one that is not right
    TABLES = 1  # first without the difference, then to the first wrong row
    PRINTED = 2
    PASSED = 3  # notes on a finished exercise
    GAPS = 4
    DIFFERENCE = 5  # of the first wrong row
    GOAL = 6  # of the next stage
    PICTURE = 7
    MESSAGE = 8
    EXPLANATION = 9  # in addition to the name of the mistake
    OLD_HINTS = 10
    TITLE = 11  # of the check
    BAR = 12
    SHORT_MESSAGE = 13
    HEADING = 14
    NOTE = 15
    LOCATION = 16
    KEYS = 17


class Part(NamedTuple):
    """A part of a screen: layouts, the largest first, each replaced by the next at its rank."""

    layouts: tuple[Renderables, ...]
    ranks: tuple[Rank, ...] = ()


def kept(*shown: RenderableType) -> Part:
    """Return a part that is always shown."""
    return Part((shown,))


def optional(rank: Rank, *shown: RenderableType) -> Part:
    """Return a part that is removed at *rank*."""
    return Part((shown, ()), (rank,))


def spaced(rank: Rank, *shown: RenderableType) -> Part:
    """Return a part below an empty row, which is removed first; the part is removed at *rank*."""
    return Part(((BLANK, *shown), shown, ()), (Rank.GAPS, rank))


def whole(parts: Iterable[Part]) -> list[RenderableType]:
    """Return *parts* in their largest layouts."""
    return [item for part in parts for item in part.layouts[0]]


def fit(parts: Sequence[Part], width: int, rows: int) -> list[RenderableType]:
    """Return *parts* in layouts that fit; if none is small enough, cut rows above the last part."""
    drawing = console(width, colour=True)
    drawn = [_draw(part.layouts[0], drawing) for part in parts]
    chosen = [0] * len(parts)
    while sum(len(one.lines) for one in drawn) > rows:
        shrinking = [
            (part.ranks[at], number)
            for number, (part, at) in enumerate(zip(parts, chosen, strict=True))
            if at < len(part.ranks)
        ]
        if not shrinking:
            return _cut(parts, width, rows)
        index = min(shrinking)[1]
        chosen[index] += 1
        drawn[index] = _draw(parts[index].layouts[chosen[index]], drawing)
    return [one for one in drawn if one.lines]


def page(shown: Sequence[RenderableType], width: int, rows: int, number: int) -> Renderables:
    """Return page *number* of *shown*, with a line that states its position."""
    lines = render(shown, width, colour=True).splitlines()
    size = max(1, rows)
    start = number % max(1, -(-len(lines) // size)) * size
    cut = [Text.from_ansi(line) for line in lines[start : start + size]]
    return (*cut, Text(f"Rows {start + 1} to {start + len(cut)} of {len(lines)}", style="dim"))


def first_rows(text: str, width: int, rows: int) -> str:
    """Return *text*, or its first *rows* rows with a mark that more follow."""
    lines = render([Text(text)], width, colour=False).splitlines()
    if len(lines) <= rows:
        return text
    return "\n".join([*lines[: rows - 1], f"{lines[rows - 1][: width - 2]} …"])


def last_rows(text: str, rows: int) -> str:
    """Return *text*, or its last *rows* lines below a mark that others come before."""
    lines = text.rstrip("\n").split("\n")
    return text if len(lines) <= rows else "\n".join(["…", *lines[-rows:]])


def _cut(parts: Sequence[Part], width: int, rows: int) -> list[RenderableType]:
    *above, last = [part.layouts[-1] for part in parts]
    end = render(last, width, colour=True).splitlines()[-rows:]
    lines = render([item for shown in above for item in shown], width, colour=True).splitlines()
    return [Text.from_ansi(line) for line in [*lines[: rows - len(end)], *end]]


def _draw(shown: Renderables, drawing: Console) -> SegmentLines:
    """Draw *shown* once, both to count its rows and to show it."""
    lines = [line for item in shown for line in drawing.render_lines(item, pad=False)]
    return SegmentLines(lines, new_lines=True)
