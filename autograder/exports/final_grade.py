"""Explains the total of a student's page: the checks, the instructor's grades, and the penalty."""

import datetime as dt
from collections.abc import Collection, Iterator, Mapping

from autograder.exports.grade_table import CellGrade, Score
from autograder.reports.feedback import FinalGrade, GradePart, InstructorNote
from autograder.results import add
from autograder.sanitize import lines
from autograder.times import LATE_MARK, parse_time, shown_duration, shown_time

BY_INSTRUCTOR = "graded by your instructor"
WITHIN = "within your extension to"
MAX_ANSWER = 20_000  # characters; an essay has about ten thousand
MAX_ANSWER_LINES = 400


def final_grade(
    score: Score,
    exercises: Collection[str],
    zone: dt.tzinfo = dt.UTC,
    answers: Mapping[str, str] | None = None,
) -> FinalGrade:
    """Return the grade, with times in *zone*; cells not in *exercises* have written *answers*."""
    submitted, late = _submitted(score, zone)
    checked = {name: _cell(score, name) for name in score.exercises if name in exercises}
    automatic = {name: cell for name, cell in checked.items() if cell.automatic is not None}
    return FinalGrade(
        score=score.score,
        max_score=score.max_score,
        penalty=score.penalty,
        checks=add(cell.automatic or 0.0 for cell in automatic.values()),
        max_checks=add(score.exercises[name][1] for name in automatic),
        parts=tuple(_parts(score, automatic)),
        notes=tuple(_notes(score, exercises, answers or {})),
        changed={
            name: add((cell.manual, cell.extra))
            for name, cell in checked.items()
            if cell.manual is not None and cell.manual != cell.automatic
        },
        submitted=submitted,
        late=late,
        is_late=bool(late) and not late.startswith(WITHIN),
        extended=bool(score.extended),
    )


def _cell(score: Score, name: str) -> CellGrade:
    return score.cells.get(name) or CellGrade(automatic=score.exercises[name][0])


def _parts(score: Score, automatic: Collection[str]) -> Iterator[GradePart]:
    """Yield what the total has besides the scores of the checks, which are *automatic*."""
    for name, (_, most) in score.exercises.items():
        cell = _cell(score, name)
        if name not in automatic:
            yield _by_hand(name, cell, most)
        elif cell.manual is not None and cell.manual != cell.automatic:
            source = f"changed by your instructor to {cell.manual:g} of {most:g}"
            points = add((cell.manual, -(cell.automatic or 0.0)))
            yield GradePart(name=name, source=source, points=points)
        if cell.extra:
            yield GradePart(name=name, source="extra, by your instructor", points=cell.extra)


def _by_hand(name: str, cell: CellGrade, most: float) -> GradePart:
    points, source = cell.manual, BY_INSTRUCTOR
    if cell.manual is None:
        points, source = cell.automatic, "" if cell.automatic else "no answer"
    return GradePart(
        name=name,
        source="not graded yet" if points is None else source,
        points=points,
        max_points=most,
        is_by_hand=cell.manual is not None,
    )


def _notes(
    score: Score, exercises: Collection[str], answers: Mapping[str, str]
) -> Iterator[InstructorNote]:
    """Yield each answer with its comment; the cells of exercises have comments only."""
    for name in dict.fromkeys((*score.exercises, *score.cells)):
        answer = (
            "" if name in exercises else lines(answers.get(name, ""), MAX_ANSWER, MAX_ANSWER_LINES)
        )
        comment = score.cells[name].comment if name in score.cells else ""
        if comment or answer:
            comment = lines(comment, MAX_ANSWER, MAX_ANSWER_LINES)
            yield InstructorNote(name=name, comment=comment, answer=answer)


def _submitted(score: Score, zone: dt.tzinfo) -> tuple[str, str]:
    """Return when the work was submitted, if known (Canvas gives only a mark), and how late."""
    time, due, extended = map(parse_time, (score.timestamp, score.duedate, score.extended))
    if time is None or due is None or time <= due:
        return (shown_time(time, zone) if time else ""), ""
    until = f" (your own deadline is {shown_time(extended, zone)})" if extended else ""
    if time == due + LATE_MARK:
        return "", f"after the deadline, as Canvas marks it{until}"
    late = time - (extended or due)
    if extended and late <= dt.timedelta(0):
        return shown_time(time, zone), f"{WITHIN} {shown_time(extended, zone)}"
    deadline = "your extended deadline" if extended else "the deadline"
    return shown_time(time, zone), f"{shown_duration(late)} after {deadline}"
