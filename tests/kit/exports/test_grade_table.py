"""The grade table: one row per student, one column per stage."""

import re

import pytest

from autograder.course import Course
from autograder.errors import UsageError
from autograder.exports.grade_table import grade_table
from autograder.results import SubmissionResult
from tests.factories import MakeCheck, MakeResults, MakeSubmission


def test_a_score_belongs_to_its_student_and_stage(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """Stages come from the course with their titles, exercises with what they are worth."""
    grades = grade_table(results(submission(check())), tiny)
    score = grades.rows[0].scores["01_tiny"]

    assert [(stage.name, stage.title, stage.max_score) for stage in grades.stages] == [
        ("01_tiny", "Tiny things", 2.0)
    ]
    assert (grades.rows[0].student, score.raw, score.penalty, score.score) == ("ada", 2.0, 0.0, 2.0)
    assert score.exercises == {"double": (2.0, 2.0)}


def test_nothing_to_read_is_a_zero_and_a_grader_error_is_none(
    tiny: Course,
    check: MakeCheck,
    submission: MakeSubmission,
    results: MakeResults,
    unread: SubmissionResult,
    broken: SubmissionResult,
):
    """Only a grader error leaves a cell empty, and a remark names it."""
    grades = grade_table(results(submission(check()), unread, broken), tiny)

    assert [(row.student, score.score) for row, score in grades.scores("01_tiny")] == [
        ("ada", 2.0),
        ("ruth", 0.0),
    ]
    assert grades.remarks == ("zoe: no grade in 01_tiny, left empty (grader-error)",)


def test_a_submission_to_an_unknown_stage_is_named_not_dropped(
    tiny: Course, submission: MakeSubmission, results: MakeResults
):
    """Neither an empty stage nor one of another course gets a column."""
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
    """It is unknown which of the two counts."""
    with pytest.raises(UsageError, match="ada in 01_tiny"):
        grade_table(results(submission(check()), submission(check())), tiny)


def test_two_maxima_of_one_stage_are_refused(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """Scores from two versions of a suite can't be compared."""
    with pytest.raises(UsageError, match="worth 2 and 4 points"):
        grade_table(results(submission(check()), submission(check(), check(), student="b")), tiny)


def test_names_are_sanitized(tiny: Course, submission: MakeSubmission, results: MakeResults):
    """An id is one line without escapes; a digest keeps it different from "a b"."""
    grades = grade_table(results(submission(student="a\x1b[2J\nb")), tiny)

    assert re.fullmatch("a b~[0-9a-f]{8}", grades.rows[0].student)
