"""The sheet that exports need, from nbgrader's database: manual scores, names and penalties too."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from nbgrader.api import (
    Assignment,
    Grade,
    Gradebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)

from autograder.course import Course
from autograder.exports.grade_table import GradeTable, Score, StageColumn, StudentGrades
from autograder.results import add


class _Cell(NamedTuple):
    """A graded cell: its assignment, its name, what it is worth."""

    stage: str
    name: str
    most: float


def grade_table_of_gradebook(book: Gradebook, course: Course) -> GradeTable:
    """Read every score in *book*, stages in the order of *course*, other assignments after them.

    Counts as nbgrader does: what waits for a human is 0 for now, and a remark says so.
    """
    cells = _cells(book)
    titles = {stage.name: stage.title for stage in course.stages}
    due = {item.name: item.duedate for item in book.db.query(Assignment)}
    order = sorted(due, key=lambda name: (name not in titles, name))
    grades, waiting = _grades(book, cells)
    scores: dict[str, dict[str, Score]] = defaultdict(dict)
    for submission in book.db.query(SubmittedAssignment):
        stage = submission.assignment.name
        penalty = sum(item.late_submission_penalty or 0.0 for item in submission.notebooks)
        scores[submission.student_id][stage] = _score(
            {cell.name: cell.most for cell in cells.values() if cell.stage == stage},
            grades[submission.id],
            penalty,
            (_text(submission.timestamp), _text(due[stage])),
        )
    return GradeTable(
        stages=tuple(_column(name, titles.get(name, name), cells.values()) for name in order),
        rows=tuple(
            StudentGrades(
                student=student.id,
                last_name=student.last_name or "",
                first_name=student.first_name or "",
                email=student.email or "",
                scores=scores[student.id],
            )
            for student in book.db.query(Student).order_by(Student.id)
        ),
        remarks=tuple(waiting),
    )


def _cells(book: Gradebook) -> dict[str, _Cell]:
    """Return every graded cell by its id."""
    return {
        cell.id: _Cell(assignment.name, cell.name, cell.max_score)
        for assignment in book.db.query(Assignment)
        for notebook in assignment.notebooks
        for cell in (*notebook.grade_cells, *notebook.task_cells)
    }


def _grades(
    book: Gradebook, cells: Mapping[str, _Cell]
) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Return the points by submission and cell, and what waits for a human, in one query."""
    query = (
        book.db.query(SubmittedAssignment.id, SubmittedAssignment.student_id, Grade)
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
    )
    points: dict[str, dict[str, float]] = defaultdict(dict)
    waiting: dict[tuple[str, str], int] = defaultdict(int)
    for submission, student, grade in query:
        cell = cells[grade.cell_id]
        given = grade.auto_score if grade.manual_score is None else grade.manual_score
        if given is None:
            waiting[student, cell.stage] += 1
        points[submission][cell.name] = (given or 0.0) + (grade.extra_credit or 0.0)
    remarks = [
        f"{student}, {stage}: {count} {'answer waits' if count == 1 else 'answers wait'} "
        "to be graded by hand and count 0 for now."
        for (student, stage), count in sorted(waiting.items())
    ]
    return points, remarks


def _score(
    most: Mapping[str, float], points: Mapping[str, float], penalty: float, times: tuple[str, str]
) -> Score:
    raw = add(points.values())
    return Score(
        raw=raw,
        penalty=penalty,
        score=max(0.0, add((raw, -penalty))),
        max_score=add(most.values()),
        exercises={name: (points.get(name), worth) for name, worth in most.items()},
        timestamp=times[0],
        duedate=times[1],
    )


def _column(name: str, title: str, cells: Iterable[_Cell]) -> StageColumn:
    return StageColumn(name, title, add(cell.most for cell in cells if cell.stage == name))


def _text(value: Any) -> str:
    return "" if value is None else str(value)
