"""Tests building the grade table, and finding its students in a download."""

import re

import pytest

from autograder.course import Course
from autograder.errors import UsageError
from autograder.exports.grade_table import (
    RosterRow,
    Score,
    StudentGrades,
    comparable,
    grade_table,
    lms_number,
    match_students,
    scale,
    settle_ungraded,
)
from autograder.results import SubmissionResult
from autograder.submission.names import parse_download_name
from tests.kit.factories import MakeCheck, MakeResults, MakeSubmission, table_of_rows


def test_a_score_belongs_to_its_student_and_stage(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """Stages come from the course with their titles, and exercises with their points."""
    grades = grade_table(results(submission(check())), tiny)
    score = grades.rows[0].scores["01_tiny"]

    assert [(stage.name, stage.title, stage.max_score) for stage in grades.stages] == [
        ("01_tiny", "Tiny things", 2.0)
    ]
    assert (grades.rows[0].student, score.raw, score.penalty, score.score) == ("ada", 2.0, 0.0, 2.0)
    assert score.exercises == {"double": (2.0, 2.0)}


def test_a_grader_error_is_no_score(
    tiny: Course,
    check: MakeCheck,
    submission: MakeSubmission,
    results: MakeResults,
    broken: SubmissionResult,
):
    """A grader error leaves a cell empty, even if other missing grades count 0."""
    grades = grade_table(results(submission(check()), broken), tiny)

    assert list(settle_ungraded(grades, zero=True).scores("01_tiny")) == [
        (grades.rows[0], grades.rows[0].scores["01_tiny"])
    ]
    assert grades.remarks == ("zoe: no grade in 01_tiny, left empty (grader-error)",)


@pytest.mark.parametrize(
    ("zero", "score", "words"),
    [
        pytest.param(False, None, "the cell stays empty (--ungraded zero writes 0)", id="blank"),
        pytest.param(True, 0.0, "0 is written", id="zero"),
    ],
)
def test_a_submission_with_nothing_to_grade_is_empty_unless_zero_is_asked_for(
    tiny: Course, results: MakeResults, unread: SubmissionResult, zero, score, words
):
    """A missing grade is written as 0 only on request, and a remark lists the students."""
    grades = settle_ungraded(grade_table(results(unread), tiny), zero=zero)

    assert grades.rows[0].scores["01_tiny"].score == score
    assert grades.remarks == (
        f"01_tiny: in one submission no exercise could be graded, so {words}: ruth",
    )


def test_a_stage_is_worth_the_points_of_the_course(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """All points of the stage are scaled, including those of its exercises."""
    grades = scale(grade_table(results(submission(check())), tiny), {"01_tiny": 5.0})
    score = grades.rows[0].scores["01_tiny"]

    assert grades.stages[0].max_score == 5.0
    assert (score.raw, score.score, score.max_score) == (5.0, 5.0, 5.0)
    assert score.exercises == {"double": (5.0, 5.0)}


def test_a_remark_on_ungraded_submissions_has_names():
    """A student is listed by name and id if the name is known."""
    score = Score(raw=0.0, score=0.0, max_score=10.0, is_ungraded=True)
    people = {"r7": ("Ruth", "Moufang"), "zoe": ("", "")}
    rows = [
        StudentGrades(student=who, first_name=first, last_name=last, scores={"01_tiny": score})
        for who, (first, last) in people.items()
    ]
    (remark,) = settle_ungraded(table_of_rows(*rows)).remarks

    assert "in 2 submissions" in remark
    assert remark.endswith(": Ruth Moufang (r7), zoe")


def test_a_submission_to_an_unknown_stage_is_named_not_dropped(
    tiny: Course, submission: MakeSubmission, results: MakeResults
):
    """Submissions without a stage of this course get no column and are reported."""
    lost = submission(stage="", message="No stage is in there.")
    grades = grade_table(results(lost, submission(stage="99_other")), tiny)

    assert grades.rows == ()
    assert grades.remarks == (
        "ada: not exported, no stage is known (No stage is in there.)",
        "ada: not exported, the course has no stage '99_other'",
    )


def test_a_stage_twice_is_refused(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """A stage that occurs twice is refused, because it is unknown which one counts."""
    with pytest.raises(UsageError, match="ada in 01_tiny"):
        grade_table(results(submission(check()), submission(check())), tiny)


def test_two_maxima_of_one_stage_are_refused(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """Scores of one stage from two versions of a suite are refused."""
    with pytest.raises(UsageError, match="worth 2 and 4 points"):
        grade_table(results(submission(check()), submission(check(), check(), student="b")), tiny)


def test_names_are_sanitized(tiny: Course, submission: MakeSubmission, results: MakeResults):
    """An id is one line without escapes; a digest keeps it different from "a b"."""
    grades = grade_table(results(submission(student="a\x1b[2J\nb")), tiny)

    assert re.fullmatch("a b~[0-9a-f]{8}", grades.rows[0].student)


@pytest.mark.parametrize(
    ("student", "number"),
    [
        pytest.param("lovelaceada_123", "123", id="canvas"),
        pytest.param("Ada Lovelace_11", "11", id="moodle"),
        pytest.param("ada", "", id="none"),
        pytest.param("ada_l", "", id="no-digits"),
        pytest.param("123", "", id="a-number-alone-is-an-identifier"),
        pytest.param("a_b_123~0a1b2c3d", "123", id="a-sign-had-to-be-changed"),
    ],
)
def test_the_number_is_what_the_download_ends_with(student: str, number: str):
    """The number is found even if a digest that keeps changed names different follows it."""
    assert lms_number(student) == number


@pytest.mark.parametrize("length", range(60, 80))
def test_a_shortened_id_gives_no_shortened_number(length: int):
    """A shortened id gives no number, because a cut number could be another student's."""
    name = "x" * length
    student = parse_download_name(f"{name}_1234567_assignsubmission_file_").student

    assert lms_number(student) in {"1234567", ""}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("ADA", "ada", id="case"),
        pytest.param("Zoe\u0308", "Zoë", id="encoding-of-accents"),
        pytest.param(" Ada  Lovelace", "Ada Lovelace", id="spaces"),
    ],
)
def test_spelling_does_not_prevent_a_match(one: str, other: str):
    """Identifiers are compared regardless of case, encoding of accents, and spaces."""
    assert comparable(one) == comparable(other)


def test_every_student_is_matched_or_named_in_a_remark():
    """A student with one row is matched; one with two or no rows gets a remark."""
    students = [StudentGrades(student=name) for name in ("ada", "alan", "emmy", "ruth")]
    roster = [RosterRow(row, "", (name,)) for row, name in enumerate(("ada", "alan", "Alan"))]
    matched, remarks = match_students(students, roster, "roster")

    assert matched == {"ada": 0}
    assert remarks == (
        "alan: could be any of rows 2, 3 of the roster, not exported",
        "Not found in the roster, not exported: emmy, ruth",
    )
