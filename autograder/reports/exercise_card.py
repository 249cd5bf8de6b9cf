"""One exercise as a card in a notebook: a fragment of HTML, and the same text without markup.

The card has no style sheet and inherits its colours, because many programs show notebooks, also in
dark themes; it stays readable where a viewer removes its style attributes.
"""

from collections.abc import Iterator

from autograder.reports.feedback import CheckFeedback, ExerciseFeedback
from autograder.reports.templating import render


def html(exercise: ExerciseFeedback, *, points: bool, note: str = "") -> str:
    """Lay out *exercise* as HTML; with *points* where they count, and *note* below it."""
    return render("exercise_card.html", exercise=exercise, points=points, note=note)


def text(exercise: ExerciseFeedback, *, points: bool, note: str = "") -> str:
    """Lay out *exercise* in plain lines, for terminals, logs and viewers without HTML."""
    return "\n".join(_lines(exercise, points=points, note=note))


def _lines(exercise: ExerciseFeedback, *, points: bool, note: str) -> Iterator[str]:
    first = exercise.first
    mark = first.mark if first else "✓"
    earned = f" {exercise.score:g} of {exercise.max_score:g} points." if points else ""
    yield f"{mark} {exercise.name}: {exercise.state}.{earned}"
    if first and not exercise.unwritten:
        yield from _check(first)
    if note:
        yield note


def _check(check: CheckFeedback) -> Iterator[str]:
    yield check.title
    if check.message:
        yield check.message
    if check.diagnosis:
        yield f"It looks like this: {check.mistake}."
        yield check.diagnosis.explanation
        yield check.diagnosis.hint
