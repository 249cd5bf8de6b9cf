"""One exercise as a card in a notebook: a fragment of HTML, and the same text without markup.

The card has no style sheet and inherits its colours, because many programs show notebooks, also in
dark themes; it stays readable where a viewer removes its style attributes.
"""

from textwrap import indent

from autograder.reports.feedback import ExerciseFeedback
from autograder.reports.templating import render


def html(exercise: ExerciseFeedback, *, points: bool, note: str = "") -> str:
    """Lay out *exercise* as HTML; with *points* where they count, and *note* below it."""
    return render("exercise_card.html", exercise=exercise, points=points, note=note)


def text(exercise: ExerciseFeedback, *, points: bool, note: str = "") -> str:
    """Lay out *exercise* in plain lines, for terminals, logs and viewers without HTML."""
    first = exercise.first
    mark = first.mark if first else "✓"
    carried = f", {exercise.carried}" if exercise.carried else ""
    earned = f" {exercise.score:g} of {exercise.max_score:g} points{carried}." if points else ""
    lines = [f"{mark} {exercise.name}: {exercise.state}.{earned}"]
    if first and not exercise.unwritten:
        lines += [first.title, first.message] if first.message else [first.title]
        if first.diagnosis:
            mistake = f"It looks like this: {first.mistake}{first.diagnosis.beyond_title}"
            lines += [mistake, first.diagnosis.hint]
        if first.printed:
            lines += ["Printed by your code:", indent(first.printed, "  ")]
    lines += [check.message for check in exercise.passed if check.message]
    return "\n".join([*lines, note] if note else lines)
