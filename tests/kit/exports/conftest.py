"""A small class to export: from a record, and as a gradebook room would make the sheet."""

from collections.abc import Callable

import pytest

from autograder.exports.sheet import Column, Row, Score, Sheet
from autograder.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Outcome,
    Results,
    Status,
    SubmissionResult,
)

HOSTILE = (
    '=HYPERLINK("http://a","x")',
    "+1+1",
    "-1+cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "  =1+1",
    "\t=1+1",
    "\r\n=1+1",
    "\uff1d1+1",
    "\uff0b1+1",
    "\uff0d1+1",
    "\uff201+1",
    "\u3000=1+1",
    "\u200d=1+1",
    "\u22121+1",
)

MakeCheck = Callable[..., CheckResult]
MakeSubmission = Callable[..., SubmissionResult]
MakeResults = Callable[..., Results]
MakeSheet = Callable[..., Sheet]


@pytest.fixture
def check() -> MakeCheck:
    """Make a check worth two points; any field can be given."""

    def make(outcome: Outcome = Outcome.PASSED, **fields: object) -> CheckResult:
        passed = outcome is Outcome.PASSED
        facts = {
            "name": "test_doubles",
            "title": "Twice one is two.",
            "status": Status.OK if passed else Status.WRONG_VALUE,
            "points": 2.0 if passed else 0.0,
            "max_points": 2.0,
            "message": "" if passed else "It differs.",
        }
        return CheckResult(outcome=outcome, **(facts | fields))

    return make


@pytest.fixture
def submission() -> MakeSubmission:
    """Make a submission of one exercise, `double`, out of its checks; any field can be given."""

    def make(*checks: CheckResult, **fields: object) -> SubmissionResult:
        exercise = ExerciseResult.of("double", checks)
        facts = {
            "student": "ada",
            "stage": "01_tiny",
            "status": Status.GRADED,
            "score": exercise.score,
            "max_score": exercise.max_score or None,
            "exercises": (exercise,) if checks else (),
        }
        return SubmissionResult(**(facts | fields))

    return make


@pytest.fixture
def results() -> MakeResults:
    """Make the record of a run out of its submissions."""

    def make(*submissions: SubmissionResult) -> Results:
        return Results(course="tiny", isolation="full", submissions=submissions)

    return make


@pytest.fixture
def trouble(check: MakeCheck) -> CheckResult:
    """A failed check with a diagnosis."""
    mistake = Diagnosis("squares", "The numbers were squared.", "What is twice three?")
    return check(Outcome.FAILED, diagnosis=mistake)


@pytest.fixture
def broken(submission: MakeSubmission) -> SubmissionResult:
    """A submission on which the grader itself failed."""
    return submission(
        student="zoe", status=Status.GRADER_ERROR, score=None, max_score=None, message="Ours."
    )


@pytest.fixture
def unread(submission: MakeSubmission) -> SubmissionResult:
    """A submission with nothing in it to grade."""
    return submission(
        student="ruth",
        status=Status.UNREADABLE,
        score=0.0,
        max_score=None,
        message="Nothing was handed in.",
    )


@pytest.fixture
def sheet() -> MakeSheet:
    """Make a sheet of one stage worth ten points: a score each student, ``None`` for no grade."""

    def make(most: float | None = 10.0, **scores: float | None) -> Sheet:
        rows = [row(student, score) for student, score in scores.items()]
        return sheet_of_rows(*rows, most=most)

    return make


def row(student: str, score: float | None = 7.5, **names: str) -> Row:
    """A student with a score in the one stage."""
    points = Score(raw=score, score=score, max_score=10.0)
    return Row(student=student, scores={"01_tiny": points}, **names)


def sheet_of_rows(*rows: Row, most: float | None = 10.0) -> Sheet:
    """A sheet of one stage, `01_tiny`, called Tiny things."""
    return Sheet(stages=(Column("01_tiny", "Tiny things", most),), rows=rows)
