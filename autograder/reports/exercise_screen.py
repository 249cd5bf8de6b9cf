"""Lays out feedback on one exercise, or a whole self-check, for terminals of any height."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace
from rich.padding import Padding
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
from autograder.reports.screen import (
    BLANK,
    Part,
    Rank,
    Renderables,
    first_rows,
    fit,
    kept,
    last_rows,
    optional,
    whole,
)
from autograder.reports.tensor_tables import TensorTable, first_wrong_row
from autograder.reports.terminal import (
    INDENT,
    NARROWEST,
    checked_exercise,
    draw,
    render,
    sentence,
    verdict,
)
from autograder.sanitize import line

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
            ranks = (Rank.TABLES, Rank.TABLES, Rank.TABLES, Rank.DIFFERENCE, Rank.NOTE)
            return _smaller_tables(tables), ranks
        case Printed(text):
            few_lines = replace(block, text=last_rows(text, FEW_ROWS))
            return ([block], [few_lines], []), (Rank.PRINTED, Rank.MESSAGE)
        case Aside():
            return ([block],), ()


def _smaller_tables(tables: tuple[TensorTable, ...]) -> tuple[list[Block], ...]:
    """Return tables with fewer rows, the last ones as a note; the difference goes first."""
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
    """Return *exercise* with its first problem, the name of the mistake alone, or the verdict."""
    names = [block.name for block in exercise.problem if isinstance(block, NamedMistake)]
    named = [Padding(Text(f"{LEAD}{name}."), (0, 0, 0, INDENT)) for name in names]
    full = tuple(checked_exercise(exercise, width))
    short: Renderables = (verdict(exercise), *named)
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
