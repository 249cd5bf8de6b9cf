"""Writes the rows of one student's lab into nbgrader's database; the caller commits them."""

import datetime as dt
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from nbgrader.api import (
    Assignment,
    Comment,
    Grade,
    Gradebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.preprocessors import AssignLatePenalties

from autograder.course import LAB
from autograder.errors import UsageError
from autograder.results import add

NOTEBOOK = LAB.removesuffix(".ipynb")  # nbgrader's notebook_id in every stage
NO_RESPONSE = "No response."  # the comment that nbgrader itself writes on an unchanged answer cell


def submitted_notebook(
    book: Gradebook, stage: str, student: str, moment: dt.datetime | None
) -> SubmittedNotebook:
    """Return the row of one student's lab; add the row and its grades if they are missing.

    *moment* is the time of submission, in UTC. If it is unknown, the time already stored is kept.
    """
    db = book.db
    if db.get(Student, student) is None:
        db.add(Student(id=student))
    assignment = db.query(Assignment).filter_by(name=stage).one()
    keys = {"assignment_id": assignment.id, "student_id": student}
    submission = db.query(SubmittedAssignment).filter_by(**keys).one_or_none()
    if submission is None:
        submission = SubmittedAssignment(**keys)
        db.add(submission)
        db.flush()
    if moment is not None:
        submission.timestamp = moment
    notebook = next(item for item in assignment.notebooks if item.name == NOTEBOOK)
    keys = {"notebook_id": notebook.id, "assignment_id": submission.id}
    row = db.query(SubmittedNotebook).filter_by(**keys).one_or_none()
    if row is None:
        row = SubmittedNotebook(**keys)
        db.add(row)
        db.flush()
    _add_missing_rows(book, row, notebook)
    return row


def set_auto_scores(
    book: Gradebook,
    row: SubmittedNotebook,
    points: Mapping[str, float | None],
    blank: frozenset[str],
    changed: frozenset[str],
) -> None:
    """Set the automatic scores of *row*; leave manual scores unchanged.

    Answers in *blank* earn 0. Other answers, and exercises without points, wait to be graded by
    hand. Formgrader asks the instructor to review a manual score if its cell is in *changed* or has
    a different automatic score than before.
    """
    for grade in row.grades:
        name, before = grade.cell.name, grade.auto_score
        if name in points:
            grade.auto_score = points[name]
        else:
            grade.auto_score = 0.0 if name in blank else None
        if grade.manual_score is None:
            grade.needs_manual_grade = grade.auto_score is None
        elif name in changed or grade.auto_score != before:
            grade.needs_manual_grade = True
    for comment in row.comments:
        comment.auto_comment = NO_RESPONSE if comment.cell.name in blank else None
    book.db.flush()


def auto_points(row: SubmittedNotebook) -> float | None:
    """Return the sum of the automatic scores of *row*, or None if it was never graded."""
    scores = [grade.auto_score for grade in row.grades if grade.auto_score is not None]
    return add(scores) if scores else None


def total_points(row: SubmittedNotebook) -> float | None:
    """Return the points of *row* with manual scores and the penalty; None if never graded."""
    if auto_points(row) is None:
        return None
    return add([*map(_score, row.grades), -(row.late_submission_penalty or 0.0)])


def set_late_penalty(row: SubmittedNotebook, late: AssignLatePenalties) -> None:
    """Set the penalty that the course's late plugin computes, as nbgrader does.

    Raises ``UsageError`` if the plugin fails.
    """
    row.late_submission_penalty = None
    seconds = row.assignment.total_seconds_late
    if seconds <= 0:
        return
    score = sum(map(_score, row.grades))
    try:
        penalty = late.plugin_inst.late_submission_penalty(
            row.assignment.student_id, score, seconds
        )
        if penalty is not None:
            bounded = late._check_late_penalty(SimpleNamespace(score=score), penalty)  # noqa: SLF001  # nbgrader's bounds
            row.late_submission_penalty = bounded
    except Exception as error:
        name = type(late.plugin_inst).__name__
        msg = f"The late plugin {name} failed: {type(error).__name__}: {error}"
        raise UsageError(msg) from error


def _score(grade: Any) -> float:
    given = grade.auto_score if grade.manual_score is None else grade.manual_score
    return (given or 0.0) + (grade.extra_credit or 0.0)


def _add_missing_rows(book: Gradebook, row: SubmittedNotebook, notebook: Any) -> None:
    """Add the grades and comments that *row* lacks because the lab has gained cells."""
    graded = {grade.cell_id for grade in row.grades}
    commented = {comment.cell_id for comment in row.comments}
    tasks = notebook.task_cells
    for cell in (*notebook.grade_cells, *tasks):
        if cell.id not in graded:
            book.db.add(Grade(cell_id=cell.id, notebook_id=row.id))
    for cell in (*notebook.solution_cells, *tasks):
        if cell.id not in commented:
            book.db.add(Comment(cell_id=cell.id, notebook_id=row.id))
    book.db.flush()
    book.db.expire(row)
