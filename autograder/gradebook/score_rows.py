"""Writes one student's lab and its cells into nbgrader's database; the caller commits the rows."""

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
from nbgrader.api import (
    Assignment,
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties

from autograder.authoring.lab_notebook import Notebook
from autograder.course import LAB
from autograder.errors import UsageError
from autograder.results import add
from autograder.submission.files import in_sentence

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
    """Set the penalty of the course's late plugin; raise ``UsageError`` if the plugin fails."""
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


_KINDS = ("grade", "solution", "task")


def register(book: Gradebook, stage: str, master: Notebook) -> bool:
    """Register the lab of *stage* if it is new or has changed; return whether it did so.

    Scores are kept. Raises ``UsageError`` if cells were added or removed and there are already
    submissions, which nbgrader does not support.
    """
    if _is_registered(book, stage, master):
        return False
    book.update_or_create_assignment(stage)
    _remove_other_cells(book, stage, master)
    kernel = json.dumps(master["metadata"]["kernelspec"])
    book.update_or_create_notebook(NOTEBOOK, stage, kernelspec=kernel)
    for cell in master["cells"]:
        if "nbgrader" in cell["metadata"]:
            _register_cell(book, stage, cell)
    return True


def outdated_grades(book: Gradebook, coursedir: CourseDirectory) -> Iterator[str]:
    """Yield a remark on the submissions graded before the points of a lab in *book* changed."""
    for assignment in book.db.query(Assignment).order_by(Assignment.name):
        before: dict[float, list[str]] = {}  # the students, by the points of the lab at that time
        now = {
            cell.name: cell.max_score
            for notebook in assignment.notebooks
            for cell in (*notebook.grade_cells, *notebook.task_cells)
        }
        for submission in sorted(assignment.submissions, key=lambda item: str(item.student_id)):
            step, student = coursedir.autograded_directory, submission.student_id
            folder = Path(coursedir.format_path(step, student, assignment.name))
            then = _graded_by(folder / f"{NOTEBOOK}.ipynb")
            if then and then != now:
                before.setdefault(add(then.values()), []).append(str(student))
        for points, students in before.items():
            names = in_sentence(students)
            yield (
                f"{assignment.name}: when the submissions of these students were graded, the lab "
                f"was worth {points:g} points: {names}. Now it is worth {add(now.values()):g} or "
                "divides them differently. Grade these submissions again."
            )


def _graded_by(lab: Path) -> dict[str, float]:
    try:
        cells = _nbgrader_metadata(msgspec.json.decode(lab.read_bytes()))
        graded = (facts for facts in cells if facts["grade"] or facts["task"])
        return {facts["grade_id"]: facts["points"] for facts in graded}
    except (OSError, msgspec.DecodeError, LookupError, TypeError):
        return {}


def _remove_other_cells(book: Gradebook, stage: str, master: Notebook) -> None:
    """Remove the registered lab if its cells differ; raise ``UsageError`` if it has submissions."""
    try:
        notebook = book.find_notebook(NOTEBOOK, stage)
    except MissingEntry:
        return
    registered, wanted = _registered_kinds(notebook), _kinds(master)
    if registered == wanted:
        return
    if notebook.submissions:
        raise UsageError(
            f"The lab of {stage} and the gradebook have different cells, and there are submissions "
            f"already: {', '.join(sorted({name for name, _ in registered ^ wanted}))}. "
            "Restore the cells, or start a new gradebook."
        )
    book.remove_notebook(NOTEBOOK, stage)


def _register_cell(book: Gradebook, stage: str, cell: dict[str, Any]) -> None:
    facts = cell["metadata"]["nbgrader"]
    key = (facts["grade_id"], NOTEBOOK, stage)
    kind = cell["cell_type"]
    if facts["grade"]:
        book.update_or_create_grade_cell(*key, max_score=facts["points"], cell_type=kind)
    if facts["solution"]:
        book.update_or_create_solution_cell(*key)
    if facts["task"]:
        book.update_or_create_task_cell(*key, max_score=facts["points"], cell_type=kind)
    source = {"cell_type": kind, "source": cell["source"], "checksum": facts["checksum"]}
    book.update_or_create_source_cell(*key, locked=facts["locked"], **source)


def _is_registered(book: Gradebook, stage: str, master: Notebook) -> bool:
    try:
        notebook = book.find_notebook(NOTEBOOK, stage)
    except MissingEntry:
        return False
    checksums = {cell.name: cell.checksum for cell in notebook.source_cells}
    points = {cell.name: cell.max_score for cell in (*notebook.grade_cells, *notebook.task_cells)}
    cells = list(_nbgrader_metadata(master))
    return (
        points == {facts["grade_id"]: facts["points"] for facts in cells if "points" in facts}
        and checksums == {facts["grade_id"]: facts["checksum"] for facts in cells}
        and _registered_kinds(notebook) == _kinds(master)
    )


def _kinds(master: Notebook) -> set[tuple[str, str]]:
    cells = list(_nbgrader_metadata(master))
    kinds = {(facts["grade_id"], kind) for facts in cells for kind in _KINDS if facts[kind]}
    return kinds | {(facts["grade_id"], "source") for facts in cells}


def _registered_kinds(notebook: Any) -> set[tuple[str, str]]:
    return {
        (cell.name, kind)
        for kind in (*_KINDS, "source")
        for cell in getattr(notebook, f"{kind}_cells")
    }


def _nbgrader_metadata(master: Notebook) -> Iterator[dict[str, Any]]:
    for cell in master["cells"]:
        if "nbgrader" in cell["metadata"]:
            yield cell["metadata"]["nbgrader"]
