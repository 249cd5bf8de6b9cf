"""Lays out feedback on an exercise or a self-check for terminals of any height.

The parts of a screen fit into its rows because unimportant ones shrink first.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.segment import SegmentLines
from rich.style import Style
from rich.text import Text

from autograder.reports.feedback import (
    LEAD,
    PASSED,
    Aside,
    Block,
    Dependency,
    ExerciseFeedback,
    Message,
    NamedMistake,
    Printed,
    SelfCheckFeedback,
    Tables,
    Title,
    counted,
    mistake_first,
)
from autograder.reports.tensor_tables import TensorTable, first_wrong_row
from autograder.reports.terminal import (
    INDENT,
    NARROWEST,
    checked_exercise,
    console,
    draw,
    render,
    sentence,
    verdict,
)
from autograder.sanitize import line

Renderables = tuple[RenderableType, ...]
BLANK = ""  # an empty row


class Rank(IntEnum):
    """The order in which layouts are replaced by smaller ones, the lowest rank first."""

    LATER = 0  # problems of exercises after the first one that is not right
    TABLES = 1  # first without the difference, then to the first wrong row
    PRINTED = 2
    PASSED = 3  # notes on a finished exercise
    GAPS = 4
    NUMBERS = 5  # of the first wrong row, where the mistake has a name
    GOAL = 6  # of the next stage
    BAR = 7
    HEADING = 8
    ONLY_NUMBERS = 9  # where it has none
    MEANING = 10  # of a picture
    MESSAGE = 11
    EXPLANATION = 12  # in addition to the name of the mistake
    OLD_HINTS = 13
    TITLE = 14  # of the check
    SHORT_MESSAGE = 15
    PICTURE = 16
    NOTE = 17
    LOCATION = 18


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
    """Return *parts* in layouts that fit; if none is small enough, cut rows above the last part.

    Where a high part has left more rows than needed, smaller ones grow again.
    """
    drawing = console(width, colour=True)
    drawn = [_draw(part.layouts[0], drawing) for part in parts]
    chosen = [0] * len(parts)
    replaced: list[tuple[int, SegmentLines]] = []
    while sum(len(one.lines) for one in drawn) > rows:
        shrinking = [
            (part.ranks[at], number)
            for number, (part, at) in enumerate(zip(parts, chosen, strict=True))
            if at < len(part.ranks)
        ]
        if not shrinking:
            return _cut(parts, width, rows)
        index = min(shrinking)[1]
        replaced.append((index, drawn[index]))
        chosen[index] += 1
        drawn[index] = _draw(parts[index].layouts[chosen[index]], drawing)
    free = rows - sum(len(one.lines) for one in drawn)
    for index, larger in reversed(replaced):
        more = len(larger.lines) - len(drawn[index].lines)
        if more <= free:
            drawn[index], free = larger, free - more
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


Layouts = tuple[tuple[Sequence[Block], ...], tuple[Rank, ...]]  # the largest layout comes first
FEW_ROWS = 3  # of a message or printed text, if the screen has too few rows


def exercise_screen(exercise: ExerciseFeedback, width: int, more: str = "") -> Iterator[Part]:
    """Yield the parts about the first problem of *exercise*, with the mistake first.

    *more* says where to see rows of numbers that do not fit.
    """
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
        layouts, ranks = _layouts(block, width - INDENT, more, is_explained=is_explained)
        yield Part(tuple(draw(shown, width, indent=INDENT) for shown in layouts), ranks)


def passed_screen(exercise: ExerciseFeedback, width: int) -> Part:
    """Return the part that reports that *exercise* passes, with notes and output if they fit."""
    passes = Text(f"{PASSED} {exercise.name} passes.", style="bold green")
    more = draw((*exercise.notes, *exercise.printed), width, indent=INDENT)
    return Part(((passes, *more), (passes,)), (Rank.PASSED,)) if more else kept(passes)


def _layouts(block: Block, width: int, more: str, *, is_explained: bool) -> Layouts:
    """Return *block* and smaller replacements, with the rank at which each is replaced."""
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
            last = Rank.NUMBERS if is_explained else Rank.ONLY_NUMBERS
            ranks = (Rank.TABLES, Rank.TABLES, Rank.TABLES, last, Rank.NOTE)
            return _smaller_tables(tables, more), ranks
        case Printed(text):
            few_lines = replace(block, text=last_rows(text, FEW_ROWS))
            return ([block], [few_lines], []), (Rank.PRINTED, Rank.MESSAGE)
        case Aside():
            return ([block],), ()


def _smaller_tables(tables: tuple[TensorTable, ...], more: str) -> tuple[list[Block], ...]:
    """Return tables with fewer rows, the last ones as a note; the difference goes first."""
    rows = len(tables[0].rows)
    cut = first_wrong_row(tables)
    pair = replace(cut, rows=cut.rows[:-1])
    rest, all_rows = (
        Aside(f"… {counted(number, 'more row')} of numbers{more}") for number in (rows - 1, rows)
    )
    note = [rest] if rows > 1 else []
    return (
        [Tables(tables)],
        [Tables(tables[:-1])],
        [Tables((cut,)), *note],
        [Tables((pair,)), *note],
        [all_rows],
        [],
    )


MAX_PATH = 400  # characters; a student's own path may be long


def self_check_text(
    feedback: SelfCheckFeedback, here: Path, size: tuple[int, int | None], *, colour: bool
) -> str:
    """Return *feedback* for *size*, in columns and rows if any; paths are relative to *here*."""
    width, rows = max(size[0], NARROWEST), size[1]
    parts = list(_parts(feedback, here, width, is_cut=rows is not None))
    shown = whole(parts) if rows is None else fit(parts, width, rows)
    return render(shown, width, colour=colour)


def _parts(feedback: SelfCheckFeedback, here: Path, width: int, *, is_cut: bool) -> Iterator[Part]:
    inside = feedback.file.is_relative_to(here)
    file = feedback.file.relative_to(here) if inside else feedback.file
    yield optional(Rank.HEADING, Text(feedback.stage, style="bold"))
    name = Text(line(str(file), MAX_PATH), style=Style(link=feedback.file.resolve().as_uri()))
    yield optional(Rank.TITLE, Text.assemble("Checked: ", name, style="dim"))
    yield optional(Rank.GAPS, BLANK)
    if feedback.message:
        yield kept(Text(sentence(feedback.message), style="red"))
        yield optional(Rank.GAPS, BLANK)
    if feedback.printed and not feedback.complete:
        printed = Printed(feedback.printed, "Printed when your file was imported:")
        yield optional(Rank.PRINTED, *draw([printed], width), BLANK)
    first = next(iter(feedback.open), None)
    for exercise in feedback.exercises:
        if is_cut and exercise is first:
            yield from exercise_screen(exercise, width)
            yield optional(Rank.GAPS, BLANK)
        else:
            yield _exercise(exercise, width)
    for notice in feedback.notices:
        yield optional(Rank.GOAL, Text(f"Note: {sentence(notice)}", style="dim"))
    yield optional(Rank.GAPS, BLANK)
    yield kept(_conclusion(feedback))
    yield optional(Rank.OLD_HINTS, Text(feedback.suites, style="dim"))


def _exercise(exercise: ExerciseFeedback, width: int) -> Part:
    """Return *exercise* with its first problem, what it uses and the mistake, or the verdict."""
    said = [block.text for block in exercise.problem if isinstance(block, Dependency)]
    names = [block.name for block in exercise.problem if isinstance(block, NamedMistake)]
    said += [f"{LEAD}{name}." for name in names]
    full = tuple(checked_exercise(exercise, width))
    short: Renderables = (
        verdict(exercise),
        *(Padding(Text(one), (0, 0, 0, INDENT)) for one in said),
    )
    rank = Rank.PASSED if exercise.first is None else Rank.LATER
    return Part((full, short, (verdict(exercise),)), (rank, Rank.MESSAGE))


def _conclusion(feedback: SelfCheckFeedback) -> Text:
    if feedback.complete:
        every = "Every check" if feedback.hidden else "Every public check"
        passes = f"{every} of {feedback.only} passes." if feedback.only else f"{every} passes."
        return Text.assemble((passes, "bold green"), " Well done!")
    if feedback.message:
        return Text("Next: fix the problem above. It blocks every exercise.", "bold")
    hint = " Stuck? `autograder hint` begins with a question."
    names = [exercise.name for exercise in feedback.open]
    return Text.assemble((f"Next: {names[0]}." if names else "No check ran.", "bold"), hint)
