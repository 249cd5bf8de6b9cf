"""Provides a small class to export: as a record, and as the gradebook's grade table."""

import pytest

from autograder.exports.grade_table import GradeTable
from autograder.results import (
    CheckResult,
    Diagnosis,
    Outcome,
    Status,
    SubmissionResult,
)
from tests.kit.factories import MakeCheck, MakeGradeTable, MakeSubmission, row, table_of_rows


@pytest.fixture
def check(check: MakeCheck) -> MakeCheck:
    """Make a check, with a message if it failed."""

    def make(outcome: Outcome = Outcome.PASSED, **fields: object) -> CheckResult:
        message = "" if outcome is Outcome.PASSED else "It differs."
        return check(outcome, **({"message": message} | fields))

    return make


@pytest.fixture
def submission(submission: MakeSubmission) -> MakeSubmission:
    """Make a submission of ada's."""

    def make(*checks: CheckResult, **fields: object) -> SubmissionResult:
        return submission(*checks, **({"student": "ada"} | fields))

    return make


@pytest.fixture
def failed_check(check: MakeCheck) -> CheckResult:
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
        message="Nothing was submitted.",
    )


@pytest.fixture
def grades() -> MakeGradeTable:
    """Make a table of one stage worth ten points: a score each student, ``None`` for no grade."""

    def make(most: float | None = 10.0, **scores: float | None) -> GradeTable:
        rows = [row(student, score) for student, score in scores.items()]
        return table_of_rows(*rows, most=most)

    return make
