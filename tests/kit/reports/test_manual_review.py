"""Tests listing the submissions that need a manual review, each with a reason."""

import pytest

from autograder.reports.manual_review import first_problem, review_reasons
from autograder.results import CheckResult, Outcome, Status, SubmissionResult
from tests.kit.factories import MakeCheck, MakeSubmission

ATTEMPTS = "2 attempts were submitted: a-1.py was uploaded last and was graded, not a.py."
REFUSED = "line 2 raised PermissionError: [Errno 13] Permission denied: '/etc/shadow' (open(...))"
ANSWERS = "lab.ipynb: it is damaged. The answer waits for your instructor, who reads the file."
NAMESAKES = "2 files are named a.py; b/a.py was graded. Submit one."


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        pytest.param(
            {"status": Status.IMPORT_ERROR, "message": "line 3 is not valid Python"},
            "import-error: line 3 is not valid Python",
            id="a-syntax-error",
        ),
        pytest.param(
            {"notices": ("There is no tiny.py, so the code cells of lab (1).ipynb were graded.",)},
            "a lab was submitted without its module",
            id="a-lab-without-its-module",
        ),
        pytest.param(
            {"message": "You submitted the lab, not `tiny.py`."},
            "a lab was submitted without its module",
            id="a-lab-that-was-not-graded",
        ),
        pytest.param(
            {"notices": ("line 1 raised ModuleNotFoundError: No module named 'seaborn'",)},
            "not installed here: seaborn",
            id="a-package-that-is-missing",
        ),
        pytest.param(
            {"notices": (REFUSED,)},
            "the sandbox refused: Permission denied: '/etc/shadow'",
            id="a-refused-system-call",
        ),
        pytest.param(
            {"notices": ("cell 2, line 3 is not valid Python 3.11: SyntaxError: f-string: oh.",)},
            "cell 2, line 3 is not valid Python 3.11; a newer one may read it",
            id="perhaps-a-newer-syntax",
        ),
        pytest.param({"notices": (ANSWERS,)}, ANSWERS, id="answers-to-look-for"),
        pytest.param({"notices": (ATTEMPTS,)}, ATTEMPTS, id="several-attempts"),
        pytest.param({"notices": (NAMESAKES,)}, NAMESAKES, id="several-files-of-one-name"),
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


def test_a_notebook_of_the_stage_is_no_reason(
    submission: MakeSubmission, failed_check: CheckResult
):
    """A notebook with the name of the module needs no review, unlike a lab."""
    notice = "There is no tiny.py, so the code cells of tiny.ipynb were graded."

    assert list(review_reasons(submission(failed_check, notices=(notice,)))) == []


def test_the_first_problem_is_one_line(check: MakeCheck, submission: MakeSubmission):
    """The first problem is the submission's, or the first line of its first failed check."""
    late = submission(status=Status.TIMEOUT, message="Too long.")
    skipped = check(Outcome.SKIPPED, message="Not\nthere")
    found: list[SubmissionResult] = [late, submission(check(), skipped), submission(check())]

    assert list(map(first_problem, found)) == ["timeout: Too long.", "double: Not", ""]
