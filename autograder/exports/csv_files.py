"""Writes CSV files: that of ``nbgrader export``, one with all exercises, and the review list.

``nbgrader_csv`` has the columns of nbgrader's ``CsvExportPlugin``, with two differences: cells with
a comma are quoted, and a stage that was not submitted has no row, whereas nbgrader writes a zero.
``exercises_csv`` is for spreadsheets. With one row per student, it can be sorted, filtered and
averaged without a pivot table. The maximum is in the header, where it does not change an average.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from autograder.exports.export_file import ExportFile, csv_content, csv_id, csv_text, number
from autograder.exports.grade_table import GradeTable, Score, StageColumn, StudentGrades
from autograder.reports.class_report import review_reasons
from autograder.reports.page_names import page_names
from autograder.results import Results
from autograder.sanitize import MAX_SENTENCE
from autograder.stored_results import scores_of

COLUMNS: Final = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
    "raw_score", "late_submission_penalty", "score", "max_score",
)  # fmt: skip
_MAX_ADDRESS = 254  # characters, from RFC 5321


def nbgrader_csv(grades: GradeTable) -> ExportFile:
    """Return a file with one row per stage and student, in the order of the stages."""
    return ExportFile(csv_content(_lines(grades)), grades.remarks)


def exercises_csv(grades: GradeTable) -> ExportFile:
    """Return a file with one row per student, and one column per exercise and stage."""
    stages = grades.graded
    exercises = {stage.name: _exercises(grades, stage) for stage in stages}
    header = ["student_id", "last_name", "first_name", "email"]
    for stage in stages:
        header += [
            csv_text(f"{stage.name}/{name} (max {number(most)})")
            for name, most in exercises[stage.name].items()
        ]
        header.append(csv_text(f"{stage.name} (max {number(stage.max_score) or '?'})"))

    lines = [header]
    for row in grades.rows:
        cells = _student_cells(row)
        for stage in stages:
            cells += _points(row.scores.get(stage.name), list(exercises[stage.name]))
        lines.append(cells)
    # Excel recognizes UTF-8 by the byte order mark.
    return ExportFile(csv_content(lines, bom=True), grades.remarks)


def _lines(grades: GradeTable) -> Iterator[Sequence[str]]:
    yield COLUMNS
    for stage in grades.stages:
        for row in grades.rows:
            if stage.name in row.scores:
                yield _line(stage, row, row.scores[stage.name])


def _line(stage: StageColumn, row: StudentGrades, score: Score) -> list[str]:
    most = stage.max_score if score.max_score is None else score.max_score
    penalty = None if score.score is None else score.penalty
    when = [csv_text(stage.name), csv_text(score.duedate), csv_text(score.timestamp)]
    return [*when, *_student_cells(row), *map(number, (score.raw, penalty, score.score, most))]


def _student_cells(row: StudentGrades) -> list[str]:
    address = csv_text(row.email, _MAX_ADDRESS)
    return [csv_id(row.student), csv_text(row.last_name), csv_text(row.first_name), address]


def _exercises(grades: GradeTable, stage: StageColumn) -> dict[str, float]:
    known: dict[str, float] = {}
    for _, score in grades.scores(stage.name):
        for name, (_, most) in score.exercises.items():
            known.setdefault(name, most)
    return known


def _points(score: Score | None, exercises: list[str]) -> list[str]:
    if score is None or score.score is None:
        return [""] * (len(exercises) + 1)
    earned = [score.exercises.get(name, (None, 0))[0] for name in exercises]
    return [number(value) for value in (*earned, score.score)]


HEADER = ("student", "name", "stage", "points", "reason", "page")


def review_csv(results: Results, names: Mapping[str, str]) -> ExportFile:
    """Return a row for each reason to read a submission; *names* maps ids to known names."""
    rows = [HEADER]
    pages = page_names(scores_of(results))
    for page, result in zip(pages, results.submissions, strict=True):
        points = f"{result.score:g}" if result.max_score else ""
        who = csv_id(result.student), csv_text(names.get(result.student, ""))
        rows += [
            (*who, csv_id(result.stage), points, csv_text(reason, MAX_SENTENCE), page)
            for reason in review_reasons(result)
        ]
    return ExportFile(csv_content(rows))
