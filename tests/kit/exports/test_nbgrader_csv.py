"""Tests the CSV file of `nbgrader export`, and one with every exercise."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.course import Course
from autograder.exports.csv_files import exercises_csv, nbgrader_csv
from autograder.exports.export_file import csv_text
from autograder.exports.grade_table import (
    GradeTable,
    Score,
    StageColumn,
    StudentGrades,
    grade_table,
    settle_ungraded,
)
from autograder.results import SubmissionResult
from tests.kit.factories import (
    FORMULAS,
    MakeCheck,
    MakeGradeTable,
    MakeResults,
    MakeSubmission,
    row,
    table_of_rows,
)

NBGRADER = (
    "assignment,duedate,timestamp,student_id,last_name,first_name,email,"
    "raw_score,late_submission_penalty,score,max_score"
)


def lines(content: bytes) -> list[dict[str, str]]:
    """Return the rows of the file; a row with too many or too few cells is an error."""
    page = content.decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(page, newline=""), strict=True))
    assert all(None not in line and None not in line.values() for line in rows)
    return rows


def test_the_columns_are_nbgraders(grades: MakeGradeTable):
    """The columns have nbgrader's names and order, without a byte order mark."""
    header = nbgrader_csv(grades()).content.decode().removesuffix("\r\n")

    assert header.replace('"', "") == NBGRADER


def test_a_line_has_what_a_gradebook_knows():
    """A line has names, dates, the score as given, the penalty and the final score."""
    score = Score(
        raw=8.0, penalty=1.5, score=6.5, max_score=10.0,
        timestamp="2026-06-01 12:00:00", duedate="2026-05-31 12:00:00",
    )  # fmt: skip
    known = StudentGrades(
        student="ada", last_name="Lovelace, Countess", first_name='Ada "the first"',
        email="ada@example.org", scores={"01_tiny": score},
    )  # fmt: skip

    assert list(lines(nbgrader_csv(table_of_rows(known)).content)[0].values()) == [
        "01_tiny", "2026-05-31 12:00:00", "2026-06-01 12:00:00", "ada", "Lovelace, Countess",
        'Ada "the first"', "ada@example.org", "8", "1.5", "6.5", "10",
    ]  # fmt: skip


def test_no_grade_is_empty_and_nothing_submitted_is_not_a_line():
    """No grade is an empty cell, and a missing submission has no row; neither is 0."""
    rows = (row("ada", None), StudentGrades(student="alan"))
    found = lines(nbgrader_csv(table_of_rows(*rows)).content)

    assert [(line["student_id"], line["raw_score"], line["score"]) for line in found] == [
        ("ada", "", "")
    ]


def test_stages_come_in_the_order_of_the_course():
    """All students of the first stage come before those of the second."""
    score = Score(raw=1.0, score=1.0, max_score=1.0)
    rows = [StudentGrades(student=name, scores={"02": score, "01": score}) for name in ("b", "a")]
    grades = GradeTable(
        stages=(StageColumn("01", "One"), StageColumn("02", "Two")), rows=tuple(rows)
    )
    found = lines(nbgrader_csv(grades).content)

    assert [line["assignment"] + line["student_id"] for line in found] == [
        "01b", "01a", "02b", "02a",
    ]  # fmt: skip


def test_every_exercise_has_a_column(
    tiny: Course,
    check: MakeCheck,
    submission: MakeSubmission,
    results: MakeResults,
    failed_check: object,
    unread: SubmissionResult,
    broken: SubmissionResult,
):
    """There is one row for each student, with empty cells for missing grades."""
    record = results(submission(check(), failed_check), unread, broken)
    found = lines(exercises_csv(settle_ungraded(grade_table(record, tiny))).content)

    assert [list(line.values())[4:] for line in found] == [["2", "2"], ["", ""], ["", ""]]
    assert list(found[0])[4:] == ["01_tiny/double (max 4)", "01_tiny (max 4)"]


def test_excel_recognizes_utf8(grades: MakeGradeTable):
    """The file begins with a byte order mark, by which Excel recognizes UTF-8."""
    assert exercises_csv(grades(ada=1.0)).content.startswith(b'\xef\xbb\xbf"student_id",')


@pytest.mark.parametrize("name", FORMULAS)
def test_no_name_is_a_formula(name: str):
    """No text column of either file can be read as a formula."""
    grades = table_of_rows(row(name, last_name=name, first_name=name, email=name))
    for done in (nbgrader_csv(grades), exercises_csv(grades)):
        line = lines(done.content)[0]

        for column in ("student_id", "last_name", "first_name", "email"):
            assert line[column].startswith("'")


@given(st.text(), st.text())
def test_any_name_comes_back(last: str, first: str):
    """Any name stays one line of text, and every other cell stays in its column."""
    grades = table_of_rows(row("ada", last_name=last, first_name=first))
    for done in (nbgrader_csv(grades), exercises_csv(grades)):
        (line,) = lines(done.content)

        assert (line["last_name"], line["first_name"]) == (csv_text(last), csv_text(first))
        assert list(line.values())[-1] in {"10", "7.5"}
