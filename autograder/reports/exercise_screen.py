"""Lays out the feedback on one exercise for terminals of any height."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace
from rich.text import Text

from autograder.reports.blocks import (
    Aside,
    Block,
    Dependency,
    Message,
    NamedMistake,
    Printed,
    Tables,
    Title,
    mistake_first,
)
from autograder.reports.feedback import PASSED, ExerciseFeedback, counted
from autograder.reports.screen import Part, Rank, first_rows, kept, last_rows
from autograder.reports.tensor_tables import TensorTable, first_wrong_row
from autograder.reports.terminal import INDENT, draw, verdict

Layouts = tuple[tuple[Sequence[Block], ...], tuple[Rank, ...]]  # the largest layout comes first
FEW_ROWS = 3  # of a message or printed text, if the screen has too few rows


def exercise_screen(exercise: ExerciseFeedback, width: int) -> Iterator[Part]:
    """Yield the parts about the first problem of *exercise*, with the mistake first."""
    if exercise.first is None:
        yield passed_screen(exercise, width)
        return
    yield kept(verdict(exercise))
    blocks = mistake_first(exercise.problem)
    is_explained = any(
        isinstance(block, NamedMistake | Aside) and not isinstance(block, Dependency)
        for block in blocks
    )
    for block in blocks:
        layouts, ranks = _layouts(block, width - INDENT, is_explained=is_explained)
        yield Part(tuple(draw(shown, width, indent=INDENT) for shown in layouts), ranks)


def passed_screen(exercise: ExerciseFeedback, width: int) -> Part:
    """Return the part that reports that *exercise* passes, with notes and output if they fit."""
    passes = Text(f"{PASSED} {exercise.name} passes.", style="bold green")
    more = draw((*exercise.notes, *exercise.printed), width, indent=INDENT)
    return Part(((passes, *more), (passes,)), (Rank.PASSED,)) if more else kept(passes)


def _layouts(block: Block, width: int, *, is_explained: bool) -> Layouts:
    """Return *block* and smaller replacements, with the rank at which each is replaced.

    Unless the problem *is_explained* by another block, the first row of a message always stays.
    """
    match block:
        case NamedMistake():
            return ([block], [replace(block, more=".")]), (Rank.EXPLANATION,)
        case Title():
            return ([block], []), (Rank.TITLE,)
        case Message(text):
            few, first = (Message(first_rows(text, width, rows)) for rows in (FEW_ROWS, 1))
            least = [] if is_explained else [first]
            return ([block], [few], least), (Rank.MESSAGE, Rank.SHORT_MESSAGE)
        case Tables(tables):
            ranks = (Rank.TABLES, Rank.TABLES, Rank.TABLES, Rank.DIFFERENCE, Rank.NOTE)
            return _smaller_tables(tables), ranks
        case Printed(text):
            few_lines = replace(block, text=last_rows(text, FEW_ROWS))
            return ([block], [few_lines], []), (Rank.PRINTED, Rank.MESSAGE)
        case Aside():
            return ([block],), ()


def _smaller_tables(tables: tuple[TensorTable, ...]) -> tuple[list[Block], ...]:
    """Return tables with fewer rows, of which the last ones are a note, and nothing.

    The difference is left out first, because one can see it in the expected and the given numbers.
    """
    rows = len(tables[0].rows)
    cut = first_wrong_row(tables)
    pair = replace(cut, rows=cut.rows[:-1])
    more = [_more(rows - 1)] if rows > 1 else []
    return (
        [Tables(tables)],
        [Tables(tables[:-1])],
        [Tables((cut,)), *more],
        [Tables((pair,)), *more],
        [_more(rows)],
        [],
    )


def _more(rows: int) -> Aside:
    return Aside(f"… {counted(rows, 'more row')} of numbers: press d")
