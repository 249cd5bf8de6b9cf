"""Reads the grade table from nbgrader's database, for ``nbgrader export`` and other exports."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace
from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.plugins import CsvExportPlugin
from traitlets import Enum

from autograder.course import Course, load
from autograder.exports.csv_files import nbgrader_csv
from autograder.exports.grade_table import (
    CellGrade,
    GradeTable,
    Score,
    StageColumn,
    StudentGrades,
    settle_ungraded,
)
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.score_rows import outdated_grades, set_late_penalty
from autograder.results import add
from autograder.submission.files import in_sentence


class CsvExport(CsvExportPlugin):
    """Exports nbgrader's columns, with commas quoted and formulas disabled, a row for each work."""

    ungraded = Enum(
        ["blank", "zero"],
        default_value="blank",
        help="Submissions in which nothing could be graded: empty cells, or 0.",
    ).tag(config=True)

    def export(self, gradebook: Gradebook) -> None:
        """Write ``grades.csv`` or the file given by ``--to``; a missing submission counts 0."""
        course = load(Path(self.parent.coursedir.root))
        grades = grade_table_of_gradebook(gradebook, course, NbgraderSetup.of_course(course))
        stages = {str(name) for name in self.assignment}
        students = {str(name) for name in self.student}
        chosen = replace(
            grades,
            stages=tuple(item for item in grades.stages if not stages or item.name in stages),
            rows=tuple(row for row in grades.rows if not students or row.student in students),
        )
        file = Path(self.to or "grades.csv")
        due = {item.name: str(item.duedate or "") for item in gradebook.assignments}
        settled = settle_ungraded(
            with_zeros(chosen, due),
            zero=self.ungraded == "zero",
            option="--CsvExport.ungraded=zero",
        )
        file.write_bytes(nbgrader_csv(settled).content)
        self.log.info("Exported grades to %s", file)
        for remark in settled.remarks:
            self.log.warning("%s", remark)


def with_zeros(grades: GradeTable, due: Mapping[str, str]) -> GradeTable:
    """Return *grades* with 0 for each stage not submitted, and the dates *due* by stage."""
    zeros = {
        stage.name: Score(
            raw=0.0, score=0.0, max_score=stage.max_score, duedate=due.get(stage.name, "")
        )
        for stage in grades.stages
    }
    rows = tuple(replace(row, scores={**zeros, **row.scores}) for row in grades.rows)
    return replace(grades, rows=rows)


class _GradedCell(NamedTuple):
    stage: str
    name: str
    max_points: float
    is_exercise: bool  # whether the autograder grades it; other cells are written answers and tasks


def grade_table_of_gradebook(book: Gradebook, course: Course, setup: NbgraderSetup) -> GradeTable:
    """Read every score in *book*, with the stages in the order of *course* and others after them.

    As in nbgrader, an answer that is not yet graded by hand counts 0; a remark lists it. Other
    remarks list the submissions whose lab has had different points since they were graded. An
    exercise without a score means that nothing in the submission could be graded. Late penalties
    are computed and stored again, because manual scores may have changed the points.
    """
    cells = _cells(book)
    titles = {stage.name: stage.title for stage in course.stages}
    names = [item.name for item in book.db.query(Assignment)]
    limits: dict[str, dict[str, float]] = defaultdict(dict)  # by stage and cell
    for cell in cells.values():
        limits[cell.stage][cell.name] = cell.max_points
    order = sorted(names, key=lambda name: (name not in titles, name))
    comments = _comments(book)
    grades, ungraded, remarks = _grades(book, cells)
    scores: dict[str, dict[str, Score]] = defaultdict(dict)
    # A row without a notebook only stores an extension; nothing has been submitted yet.
    for submission in (one for one in book.db.query(SubmittedAssignment) if one.notebooks):
        stage = submission.assignment.name
        for row in submission.notebooks:
            if row.late_submission_penalty is not None:
                set_late_penalty(row, setup.late)
        penalty = sum(item.late_submission_penalty or 0.0 for item in submission.notebooks)
        given, said = grades[submission.id], comments[submission.id]
        score = _score(limits[stage], given, penalty, submission, said)
        is_ungraded = submission.id in ungraded
        scores[submission.student_id][stage] = replace(score, is_ungraded=is_ungraded)
    book.db.commit()
    return GradeTable(
        stages=tuple(
            StageColumn(name, titles.get(name, name), add(limits[name].values())) for name in order
        ),
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
        remarks=(*remarks, *outdated_grades(book, setup.coursedir)),
    )


def names_of_gradebook(book: Gradebook) -> dict[str, str]:
    """Return the names of the students in *book* by id, without students who have no name."""
    names = {item.id: (item.first_name, item.last_name) for item in book.db.query(Student)}
    return {who: " ".join(filter(None, parts)) for who, parts in names.items() if any(parts)}


def _cells(book: Gradebook) -> dict[str, _GradedCell]:
    return {
        cell.id: _GradedCell(assignment.name, cell.name, cell.max_score, cell.name not in by_hand)
        for assignment in book.db.query(Assignment)
        for notebook in assignment.notebooks
        for by_hand in [{one.name for one in (*notebook.solution_cells, *notebook.task_cells)}]
        for cell in (*notebook.grade_cells, *notebook.task_cells)
    }


def _grades(
    book: Gradebook, cells: Mapping[str, _GradedCell]
) -> tuple[dict[str, dict[str, CellGrade]], set[str], list[str]]:
    """Read the grades by submission and cell in one query.

    Also return the submissions with an exercise that has no score, and remarks on the written
    answers that have none.
    """
    query = (
        book.db.query(SubmittedAssignment.id, SubmittedAssignment.student_id, Grade)
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
    )
    grades: dict[str, dict[str, CellGrade]] = defaultdict(dict)
    ungraded: set[str] = set()
    waiting: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for submission, student, grade in query:
        cell = cells[grade.cell_id]
        given = grade.auto_score if grade.manual_score is None else grade.manual_score
        if given is None and cell.is_exercise:
            ungraded.add(submission)
        elif given is None:
            waiting[cell.stage][student] += 1
        grades[submission][cell.name] = CellGrade(
            automatic=grade.auto_score, manual=grade.manual_score, extra=grade.extra_credit or 0.0
        )
    remarks = [_waiting_remark(stage, counts) for stage, counts in sorted(waiting.items())]
    return grades, ungraded, remarks


def _waiting_remark(stage: str, counts: Mapping[str, int]) -> str:
    count = sum(counts.values())
    answers = "1 answer waits" if count == 1 else f"{count} answers wait"
    names = in_sentence(sorted(counts))
    return f"{stage}: {answers} to be graded by hand and count 0 for now: {names}."


def _comments(book: Gradebook) -> dict[str, dict[str, str]]:
    query = (
        book.db.query(SubmittedNotebook.assignment_id, BaseCell.name, Comment.manual_comment)
        .join(Comment, Comment.notebook_id == SubmittedNotebook.id)
        .join(BaseCell, BaseCell.id == Comment.cell_id)
    )
    comments: dict[str, dict[str, str]] = defaultdict(dict)
    for submission, cell, text in query:
        if text and text.strip():
            comments[submission][cell] = text
    return comments


def _score(
    limits: Mapping[str, float],
    grades: Mapping[str, CellGrade],
    penalty: float,
    submission: Any,
    comments: Mapping[str, str],
) -> Score:
    given = {
        name: grade.automatic if grade.manual is None else grade.manual
        for name, grade in grades.items()
    }
    points = {name: (given[name] or 0.0) + grade.extra for name, grade in grades.items()}
    raw = add(points.values())
    return Score(
        raw=raw,
        penalty=penalty,
        score=max(0.0, add((raw, -penalty))),
        max_score=add(limits.values()),
        exercises={name: (points.get(name), limit) for name, limit in limits.items()},
        cells={
            name: replace(grades.get(name) or CellGrade(), comment=comments.get(name, ""))
            for name in (*grades, *(comments.keys() - grades.keys()))
        },
        timestamp=_text(submission.timestamp),
        duedate=_text(submission.assignment.duedate),
        extended=_text(submission.duedate) if submission.extension else "",
    )


def _text(value: Any) -> str:
    return "" if value is None else str(value)
