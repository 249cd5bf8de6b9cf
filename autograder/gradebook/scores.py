"""From the record of one submission to what its lab and its gradebook get."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from autograder.course import Stage
from autograder.errors import GraderError
from autograder.gradebook.autograded_notebook import Card
from autograder.reports import exercise_card
from autograder.reports.feedback_builder import build_exercise_feedback
from autograder.reports.templating import render
from autograder.results import Status, SubmissionResult


class Scores(NamedTuple):
    """The points of each exercise of a stage, and the words about them."""

    points: Mapping[str, float]
    cards: Mapping[str, Card]
    whole: Card | None  # what concerns the submission as a whole


def scores(
    stage: Stage, result: SubmissionResult, limits: Mapping[str, float], remarks: tuple[str, ...]
) -> Scores:
    """Turn *result* into points for the grade cells, which are worth *limits*.

    What the record does not tell of, because nothing could be judged, earns 0. Raises
    ``GraderError`` if there is no grade, or if one is no number within its limit.
    """
    if result.status is Status.GRADER_ERROR or result.score is None:
        msg = f"{result.student}, {result.stage}: {result.message or 'there is no grade.'}"
        raise GraderError(msg)
    earned = {exercise.name: exercise.score for exercise in result.exercises}
    points = {name: _within(name, earned.get(name, 0.0), limit) for name, limit in limits.items()}
    if strangers := set(earned) - set(limits):
        msg = f"{stage.lab} has no grade cell for {', '.join(sorted(strangers))}."
        raise GraderError(msg)
    cards = {name: _card(stage, result, name) for name in limits}
    return Scores(points, cards, _whole(result, remarks))


def _within(name: str, score: float, limit: float) -> float:
    if not math.isfinite(score) or not 0 <= score <= limit:
        msg = (
            f"{name}: {score} is no score between 0 and {limit}. Has the suite changed since the "
            "lab was built? Run `autograder release`, then grade again."
        )
        raise GraderError(msg)
    return float(score)


def _card(stage: Stage, result: SubmissionResult, name: str) -> Card:
    told = build_exercise_feedback(stage, result, name)
    if told is None:
        words = f"· {name}: not judged. {result.message}".strip()
        return Card(render("plain.html", lines=[words]), words)
    return Card(exercise_card.html(told, points=True), exercise_card.text(told, points=True))


def _whole(result: SubmissionResult, remarks: tuple[str, ...]) -> Card | None:
    lines = [line for line in (result.message, *remarks, *result.notices) if line]
    if not lines:
        return None
    return Card(render("plain.html", lines=lines), "\n".join(lines))
