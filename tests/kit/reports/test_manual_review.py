"""Tests listing the submissions that need a manual review, each with a reason."""

import pytest

from autograder.reports.class_report import first_problem, lacks_lab, review_reasons
from autograder.results import CheckResult, Flag, FlagKind, Outcome, Status, SubmissionResult
from tests.kit.factories import MakeCheck, MakeSubmission


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        pytest.param(
            {"status": Status.IMPORT_ERROR, "message": "line 3 is not valid Python"},
            "import-error: line 3 is not valid Python",
            id="a-syntax-error",
        ),
        pytest.param(
            {"flags": (Flag(FlagKind.NO_MODULE, "a lab without its module"),)},
            "a lab without its module",
            id="a-flag",
        ),
    ],
)
def test_what_points_cannot_show_is_a_reason(
    submission: MakeSubmission, failed_check: CheckResult, facts: dict[str, object], reason: str
):
    """A submission whose points do not show everything has a reason of one line."""
    assert list(review_reasons(submission(failed_check, **facts))) == [reason]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (Status.TIMEOUT, "double did not end in time"),
        (Status.CRASHED, "double ended the process"),
        (Status.OUT_OF_MEMORY, "double used too much memory"),
        (Status.WRONG_VALUE, None),
    ],
)
def test_a_limit_that_a_single_exercise_hits_is_a_reason(
    check: MakeCheck, submission: MakeSubmission, status: Status, reason: str | None
):
    """An endless loop in one exercise is listed, although the others are graded."""
    result = submission(check(), check(Outcome.ERRORED, status=status))

    assert list(review_reasons(result)) == [reason] * bool(reason)


def test_a_text_is_no_reason(submission: MakeSubmission, failed_check: CheckResult):
    """Only typed flags and statuses are reasons, because a student's code chooses some texts."""
    text = "line 2 raised PermissionError: [Errno 13] Permission denied: '/etc/shadow' (open(...))"

    assert list(review_reasons(submission(failed_check, message=text, notices=(text,)))) == []


def test_a_missing_lab_is_counted_and_no_reason(
    submission: MakeSubmission, failed_check: CheckResult
):
    """A missing lab is routine: the class report counts it, and nobody has to read the code."""
    result = submission(failed_check, flags=(Flag(FlagKind.NO_LAB, "No lab.ipynb"),))

    assert list(review_reasons(result)) == []
    assert lacks_lab(result)


def test_the_first_problem_is_one_line(check: MakeCheck, submission: MakeSubmission):
    """The first problem is the submission's, or the first line of its first failed check."""
    late = submission(status=Status.TIMEOUT, message="Too long.")
    skipped = check(Outcome.SKIPPED, message="Not\nthere")
    found: list[SubmissionResult] = [late, submission(check(), skipped), submission(check())]

    assert list(map(first_problem, found)) == ["timeout: Too long.", "double: Not", ""]
