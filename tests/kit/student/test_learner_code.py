"""Tests reading the results of a learner's own module and tests."""

import pytest

from autograder.student.learner_code import Verdict, _verdict, is_right


def test_a_result_without_checks_is_not_right(submission):
    """A module that can't be imported has passed no test."""
    assert not is_right(submission())


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        pytest.param({"passed": 2, "failed": 0}, Verdict(ran=True, caught=False, why=""), id="all"),
        pytest.param({"passed": 1, "failed": 1}, Verdict(ran=True, caught=True, why=""), id="some"),
        pytest.param(
            {"passed": 0, "failed": 0, "broken": 1, "why": "a typo"},
            Verdict(ran=False, caught=False, why="a typo"),
            id="broken",
        ),
        pytest.param(None, Verdict(ran=False, caught=False, why="no answer"), id="nothing"),
    ],
)
def test_the_counts_of_a_run_are_a_verdict(counts, verdict):
    """A failing test has caught the mistake, and a file that can't be read has not run."""
    problem = "" if counts else "no answer"

    assert _verdict(counts, problem) == verdict


def test_a_file_without_tests_has_not_run():
    """For a file without tests, the reason tells the learner how pytest finds a test."""
    found = _verdict({"passed": 0, "failed": 0}, "")

    assert not found.ran
    assert "begins with test_" in found.why
