"""The class as a table in the terminal."""

import io
import re

import pytest
from msgspec.structs import replace
from rich.console import Console

from autograder.reports.class_table import class_table, first_problem
from autograder.results import (
    CheckResult,
    ExerciseResult,
    Outcome,
    Results,
    Status,
    SubmissionResult,
)


def check(outcome: Outcome, message: str = "") -> CheckResult:
    """A check worth two points."""
    points = 2.0 if outcome is Outcome.PASSED else 0.0
    status = Status.OK if outcome is Outcome.PASSED else Status.WRONG_VALUE
    return CheckResult(
        name="test_a", title="a", outcome=outcome, status=status, points=points, max_points=2.0,
        message=message,
    )  # fmt: skip


def submission(*checks: CheckResult, status: Status = Status.GRADED, **changed: object):
    """A submission of one exercise."""
    exercise = ExerciseResult.of("double", checks)
    facts = {"score": exercise.score, "max_score": exercise.max_score, "exercises": (exercise,)}
    return SubmissionResult(student="alice", stage="01_tiny", status=status, **(facts | changed))


def shown(*submissions: SubmissionResult) -> str:
    """The table as a terminal of 100 columns shows it."""
    console = Console(file=io.StringIO(), width=100)
    console.print(class_table(Results(course="tiny", isolation="full", submissions=submissions)))
    return console.file.getvalue()


def test_a_row_says_who_what_and_how_many_points():
    """One row per submission; the title says how many there are."""
    text = shown(submission(check(Outcome.PASSED), check(Outcome.FAILED, "It differs.")))

    assert "1 submission, isolation full" in text
    assert "alice    01_tiny   2 / 4  double: It differs." in text


@pytest.mark.parametrize(
    ("result", "words"),
    [
        pytest.param(submission(check(Outcome.PASSED)), "", id="all-is-well"),
        pytest.param(
            submission(check(Outcome.PASSED), check(Outcome.SKIPPED, "Not\nthere")),
            "double: Not",
            id="first-line-of-the-first-problem",
        ),
        pytest.param(
            submission(status=Status.TIMEOUT, message="Too long."),
            "timeout: Too long.",
            id="the-whole-submission",
        ),
    ],
)
def test_the_first_problem_is_one_line(result: SubmissionResult, words: str):
    """Empty where there is no problem."""
    assert first_problem(result) == words


def test_no_grade_is_no_zero():
    """Where the grader failed, the table shows none."""
    failed = submission(status=Status.GRADER_ERROR, score=None, max_score=None, message="Ours.")

    assert "none" in shown(failed)
    assert "0 / " not in shown(failed)


def test_a_students_text_is_no_markup():
    """Brackets and colours in names and messages are shown as they are."""
    text = shown(submission(check(Outcome.FAILED, "raised KeyError: [red]x[/red]")))

    assert "[red]x[/red]" in text


def test_points_that_are_carried_forward_are_counted_apart():
    """They stand below the score that contains them."""
    text = shown(submission(check(Outcome.PASSED), replace(check(Outcome.PASSED), given="half")))

    assert re.search(r" 4 / 4 .*\n +2 carried", text)
