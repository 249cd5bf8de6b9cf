from collections.abc import Callable

import pytest

from autograder.course import Course
from autograder.grading.grade import grade
from autograder.results import CheckResult
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Submission

WRONG = """
import torch
from torch import nn


def double(x):
    return x**2
"""


@pytest.fixture
def checks(
    write_course: Callable[..., Course],
    submit: Callable[..., Submission],
    lent_fork_server: ForkServer,  # noqa: ARG001  # it lends
) -> Callable[[str], dict[str, CheckResult]]:
    """Grade a known mistake in a course with this ``[reveal]``; checks by name."""

    def graded(reveal: str) -> dict[str, CheckResult]:
        head = f'format_version = 1\nid = "tiny"\ntitle = "Tiny"\nstages = ["01_tiny"]\n{reveal}'
        course = write_course({"course.toml": head})
        result = grade(course, [submit(WRONG)], jobs=1).submissions[0]
        return {check.name: check for exercise in result.exercises for check in exercise.checks}

    return graded


def test_a_hidden_check_names_the_mistake_but_no_value(checks):
    """By default a hidden check tells the property and the mistake, and shows no grid."""
    hidden = checks("")["test_doubles_unseen_numbers"]

    assert hidden.message == "The result has wrong values."
    assert hidden.diagnosis is not None
    assert hidden.diagnosis.misconception == "squares"
    assert hidden.grid is None


def test_a_course_may_keep_silent_about_hidden_checks(checks):
    """With `hidden_checks = "nothing"` a hidden check says only that it did not pass."""
    hidden = checks('[reveal]\nhidden_checks = "nothing"\n')["test_doubles_unseen_numbers"]

    assert hidden.outcome == "failed"
    assert (hidden.message, hidden.diagnosis) == ("", None)


def test_a_course_may_keep_documented_values_back(checks):
    """With `documented_values = false` a documented check shows neither grid nor numbers."""
    shown = checks("")["test_doubles_the_documented_numbers"]
    kept = checks("[reveal]\ndocumented_values = false\n")["test_doubles_the_documented_numbers"]

    assert shown.grid is not None
    assert kept.grid is None
    assert kept.message == "The result has wrong values."
