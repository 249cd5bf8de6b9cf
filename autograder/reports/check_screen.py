"""Formats feedback on a student's own check, for a terminal of any height and for a pipe."""

from collections.abc import Iterator
from pathlib import Path

from rich.padding import Padding
from rich.style import Style
from rich.text import Text

from autograder.reports.blocks import LEAD, NamedMistake, Printed
from autograder.reports.exercise_screen import exercise_screen
from autograder.reports.feedback import ExerciseFeedback, SelfCheckFeedback
from autograder.reports.screen import BLANK, Part, Rank, Renderables, fit, kept, optional, whole
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

MAX_PATH = 400  # characters; a student's own path may be long


def self_check_text(
    feedback: SelfCheckFeedback, here: Path, size: tuple[int, int | None], *, colour: bool
) -> str:
    """Return *feedback* as text for a terminal of *size*, in columns and rows.

    Without a number of rows, everything is shown. Paths below *here* are relative.
    """
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
