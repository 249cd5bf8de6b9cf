"""Lays out the feedback on one exercise for terminals of any height."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from autograder.reports.feedback import CheckFeedback, ExerciseFeedback, counted
from autograder.reports.screen import Part, Rank, first_rows, kept, last_rows, optional
from autograder.reports.tensor_tables import TensorTable, first_wrong_row
from autograder.reports.terminal import (
    INDENT,
    PRINTED,
    diagnosis_parts,
    passed_parts,
    printed_parts,
    verdict,
)
from autograder.reports.terminal_tables import tensor_parts

FEW_ROWS = 3  # of a message or printed text, if the screen has too few rows


def exercise_screen(exercise: ExerciseFeedback, width: int) -> Iterator[Part]:
    """Yield the parts about the first problem of *exercise*, with the diagnosis first."""
    first = exercise.first
    if first is None:
        yield passed_screen(exercise)
        return
    yield kept(verdict(exercise))
    if not (exercise.unwritten or first.silent):
        yield from map(_indented, _problem(first, width - INDENT))


def passed_screen(exercise: ExerciseFeedback) -> Part:
    """Return the part that reports that *exercise* passes, with notes and output if they fit."""
    shown = tuple(passed_parts(exercise))
    return Part((shown, shown[:1]), (Rank.PASSED,)) if shown[1:] else kept(*shown)


def _problem(check: CheckFeedback, width: int) -> Iterator[Part]:
    full, short = (tuple(diagnosis_parts(check, beyond=beyond)) for beyond in (True, False))
    if full:
        yield Part((full, short), (Rank.EXPLANATION,))
    yield optional(Rank.TITLE, Text(check.title, style="bold"))
    if check.message:
        yield _message(check.message, width, is_all=not full)
    if check.tables:
        yield _tables(check.tables, width)
    if check.printed:
        few = last_rows(check.printed, FEW_ROWS)
        layouts = (printed_parts(PRINTED, text) for text in (check.printed, few))
        yield Part((*map(tuple, layouts), ()), (Rank.PRINTED, Rank.MESSAGE))


def _message(message: str, width: int, *, is_all: bool) -> Part:
    """Return the part with *message*; its first row always stays if nothing else is shown."""
    rows = (Text(message), *(Text(first_rows(message, width, most)) for most in (FEW_ROWS, 1)))
    layouts: tuple[tuple[RenderableType, ...], ...] = tuple((row,) for row in rows)
    ranks = (Rank.MESSAGE, Rank.SHORT_MESSAGE)
    return Part(layouts, ranks) if is_all else Part((*layouts[:2], ()), ranks)


def _tables(tables: tuple[TensorTable, ...], width: int) -> Part:
    """Return the part with all rows, the first wrong row, its difference, or only a note."""
    rows = len(tables[0].rows)
    cut = first_wrong_row(tables)
    difference = replace(cut, rows=cut.rows[-1:])
    more = [_more(rows - 1)] if rows > 1 else []
    layouts = (
        ("", *tensor_parts(tables, width)),
        (*tensor_parts([cut], width), *more),
        (*tensor_parts([difference], width), *more),
        (_more(rows),),
        (),
    )
    return Part(layouts, (Rank.TABLES, Rank.TABLES, Rank.DIFFERENCE, Rank.NOTE))


def _more(rows: int) -> Text:
    return Text(f"… {counted(rows, 'more row')} of numbers: press d", style="dim")


def _indented(part: Part) -> Part:
    layouts = (_indent(shown) for shown in part.layouts)
    return part._replace(layouts=tuple(layouts))


def _indent(shown: Iterable[RenderableType]) -> tuple[RenderableType, ...]:
    parts = tuple(shown)
    return (Padding(Group(*parts), (0, 0, 0, INDENT)),) if parts else ()
