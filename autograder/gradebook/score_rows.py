"""Writes the rows of one student's lab into nbgrader's database; the caller commits."""

import datetime as dt
import re
import warnings
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
from nbgrader.utils import parse_utc

from autograder.course import LAB
from autograder.errors import UsageError
from autograder.results import add

NOTEBOOK = LAB.removesuffix(".ipynb")  # nbgrader's notebook_id, the same in every stage
NO_RESPONSE = "No response."  # nbgrader's own comment on an unchanged answer cell
# As nbgrader and ISO 8601 write a time. A zone is a name or an offset and nothing else: dateutil
# opens what looks like a path, also after a colon.
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,9})?)?"
    r"( ?([A-Za-z]{1,10}|[+-]\d\d(:?\d\d)?)| [A-Za-z_]{1,30}(/[A-Za-z0-9_+-]{1,30}){1,2})?",
    re.ASCII,
)


def submitted_notebook(
    book: Gradebook, stage: str, student: str, timestamp: str
) -> SubmittedNotebook:
    """Return the row of one student's lab, with a grade for each graded cell; add what is missing.

    *timestamp* is the text of nbgrader's ``timestamp.txt``; without a readable one, an earlier
    time stays.
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
    time = parse_timestamp(timestamp)
    if time is not None:
        submission.timestamp = time
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
    """Set the automatic scores of *row*; manual scores stay.

    Answers in *blank* earn 0. Other answers, and exercises without points, wait to be graded by
    hand. Formgrader asks to review a manual score if the student's text of this cell is in
    *changed*, or its automatic score differs.
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
    """Sum the automatic scores of *row*; None if it was never graded."""
    scores = [grade.auto_score for grade in row.grades if grade.auto_score is not None]
    return add(scores) if scores else None


def set_late_penalty(row: SubmittedNotebook, late: AssignLatePenalties) -> None:
    """Set the penalty of the course's late plugin, as nbgrader does; raises ``UsageError``."""
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


def parse_timestamp(text: str) -> dt.datetime | None:
    """Parse nbgrader's timestamp, in UTC without a zone; None if it can't be parsed."""
    if not _TIME.fullmatch(text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # dateutil warns of a zone that it does not know
            moment: dt.datetime = parse_utc(text)
            return moment
    except (ValueError, OverflowError):
        return None


def _score(grade: Any) -> float:
    given = grade.auto_score if grade.manual_score is None else grade.manual_score
    return (given or 0.0) + (grade.extra_credit or 0.0)


def _add_missing_rows(book: Gradebook, row: SubmittedNotebook, notebook: Any) -> None:
    """Add the grades and comments that *row* lacks, for cells that a later lab added."""
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
