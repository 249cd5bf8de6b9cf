"""Tests the statistics of a class for each check."""

from collections.abc import Callable

import pytest

from autograder.reports.class_report import (
    LEAST_SUBMISSIONS,
    CheckStatistics,
    CheckTally,
)
from autograder.results import Outcome, Status, SubmissionResult
from tests.kit.factories import MakeCheck, MakeSubmission

Student = Callable[..., SubmissionResult]
PASSED, FAILED = Outcome.PASSED, Outcome.FAILED


@pytest.fixture
def student(check: MakeCheck, submission: MakeSubmission) -> Student:
    """Make a submission of two checks: how the first one ended, and the points of the other."""

    def make(outcome: Outcome, points: float = 0.0, **fields: object) -> SubmissionResult:
        other = check(Outcome.FAILED, name="other", points=points)
        return submission(check(outcome, name="one", **fields), other)

    return make


def first(*submissions: SubmissionResult) -> CheckStatistics:
    """The statistics of the first check."""
    tally = CheckTally()
    for submission in submissions:
        tally.add(submission)
    return tally.statistics()[0]


def test_the_share_counts_every_graded_submission(student: Student, submission: MakeSubmission):
    """The share of a check counts every graded submission, and none without a grade."""
    broken = submission(status=Status.GRADER_ERROR, score=None, max_score=None)
    found = first(student(PASSED), student(FAILED), student(FAILED), student(FAILED), broken)

    assert (found.passed, found.of, found.share) == (1, 4, 25.0)


def test_difficulty_leaves_out_who_has_not_written_the_exercise(student: Student):
    """An unwritten exercise does not count in the difficulty of a check."""
    blank = student(FAILED, status=Status.NOT_IMPLEMENTED)
    found = first(student(PASSED), student(FAILED), blank, blank)

    assert (found.of, found.written, found.difficulty) == (4, 2, 50.0)


def test_what_nobody_has_written_has_no_difficulty(student: Student):
    """A check that nobody has written has no difficulty, rather than 0 or 100."""
    assert first(student(FAILED, status=Status.MISSING)).difficulty is None


@pytest.mark.parametrize(
    ("good", "weak", "expected"),
    [
        pytest.param(PASSED, FAILED, 1.0, id="tells-apart"),
        pytest.param(FAILED, PASSED, -1.0, id="upside-down"),
    ],
)
def test_discrimination_compares_with_the_other_checks(
    student: Student,
    good: Outcome,
    weak: Outcome,
    expected: float,
):
    """Discrimination is 1 if all good submissions pass and no weak one, -1 in reverse."""
    half = LEAST_SUBMISSIONS // 2
    run = [*[student(good, 2.0)] * half, *[student(weak, 0.0)] * half]

    assert first(*run).discrimination == expected


def test_a_small_class_has_no_discrimination(student: Student):
    """A small class has no discrimination, because it would be due to chance."""
    half = LEAST_SUBMISSIONS // 2
    small = [*[student(PASSED, 2.0)] * half, *[student(FAILED)] * (half - 1)]
    lonely = [*[student(PASSED, 2.0)] * LEAST_SUBMISSIONS, student(FAILED), student(FAILED)]

    assert first(*small).discrimination is None
    assert first(*lonely).discrimination is None


def test_equal_points_elsewhere_give_no_discrimination(student: Student):
    """Equal points in all other checks give no discrimination."""
    half = LEAST_SUBMISSIONS // 2

    assert first(*[student(PASSED)] * half, *[student(FAILED)] * half).discrimination is None
