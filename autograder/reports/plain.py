"""Renders feedback as plain text, for viewers without HTML and for exports."""

from textwrap import indent

from autograder.reports.feedback import (
    HOLDS,
    LEAD,
    Aside,
    Block,
    ExerciseFeedback,
    Message,
    NamedMistake,
    Printed,
    Tables,
    Title,
)
from autograder.reports.feedback_builder import check_blocks
from autograder.results import CheckResult


def exercise_text(exercise: ExerciseFeedback, *, points: bool, note: str = "") -> str:
    """Return *exercise* as lines, with *points* if they count, and with *note* at the end."""
    earned = f" {exercise.points}." if points else ""
    messages = [block for check in exercise.passed for block in check.messages]
    blocks = (*exercise.problem, *exercise.printed, *messages)
    lines = [f"{exercise.mark} {exercise.name}: {exercise.state}.{earned}"]
    lines += [line for block in blocks for line in _lines(block)]
    return "\n".join([*lines, note] if note else lines)


def check_text(check: CheckResult) -> str:
    """Return the feedback on *check* as paragraphs; empty if there is none."""
    return "\n\n".join(line for block in check_blocks(check) for line in _lines(block, lead=""))


def _lines(block: Block, lead: str = LEAD) -> list[str]:
    match block:
        case Title(text):
            return [f"{HOLDS}{text}"]
        case Message(text) | Aside(text):
            return [text]
        case NamedMistake(name, more, question):
            return list(filter(None, (f"{lead}{name}{more}", question)))
        case Printed(text, title):
            return [title, indent(text, "  ")]
        case Tables():
            return []  # a table needs letters of one width
