"""One exercise as a card for a notebook: a fragment of HTML, and the same words as plain text.

A notebook may be shown by anything, and in a dark theme: the card brings no style sheet, inherits
its colours, and reads well where a viewer strips its style attributes.
"""

from collections.abc import Iterator

from autograder.reports.feedback import ExerciseFeedback, Finding
from autograder.reports.templating import render


def html(exercise: ExerciseFeedback, *, points: bool, note: str = "") -> str:
    """Lay out *exercise*; with *points* where they count, *note* where more is to be said."""
    return render("card.html", exercise=exercise, points=points, note=note)


def text(exercise: ExerciseFeedback, *, points: bool, note: str = "") -> str:
    """Tell *exercise* in plain lines, for terminals, logs and viewers without HTML."""
    return "\n".join(_lines(exercise, points=points, note=note))


def _lines(exercise: ExerciseFeedback, *, points: bool, note: str) -> Iterator[str]:
    first = exercise.first
    mark = first.mark if first else "✓"
    earned = f" {exercise.score:g} of {exercise.max_score:g} points." if points else ""
    yield f"{mark} {exercise.name}: {exercise.state}.{earned}"
    if first and not _says_nothing(exercise):
        yield from _finding(first)
    if note:
        yield note


def _finding(finding: Finding) -> Iterator[str]:
    yield finding.title
    if finding.message:
        yield finding.message
    if finding.diagnosis:
        yield f"It looks like this: {finding.mistake}."
        yield finding.diagnosis.explanation
        yield finding.diagnosis.hint


def _says_nothing(exercise: ExerciseFeedback) -> bool:
    """Whether the state, `not written yet`, tells it all."""
    return exercise.state == "not written yet"
