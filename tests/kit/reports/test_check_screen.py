"""Tests how `autograder check` fits into a terminal."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.reports.exercise_screen import self_check_text
from autograder.reports.feedback import SelfCheckFeedback
from autograder.reports.feedback_builder import build_self_check
from autograder.results import CheckResult, SubmissionResult

HERE = Path("/home/ada")


@pytest.fixture
def feedback(
    tiny: Course, submission: Callable[..., SubmissionResult], failed_check: CheckResult
) -> SelfCheckFeedback:
    """Three exercises with the same mistake, of which the last ones use the first."""
    result = submission(failed_check)
    made = build_self_check(tiny.stages[0], result, HERE / "tiny.py", hidden=False)
    [one] = made.exercises
    later = [replace(one, name=name, uses=("double",)) for name in ("Scale", "Twice")]
    return replace(made, exercises=(one, *later))


def shown(feedback: SelfCheckFeedback, rows: int | None) -> str:
    """Return what `check` prints in a terminal of 80 columns."""
    return self_check_text(feedback, HERE, (80, rows), colour=False)


@pytest.mark.parametrize("rows", [11, 15, 23, 39])
def test_the_first_mistake_stays_on_the_screen(feedback: SelfCheckFeedback, rows: int):
    """In every height, the first mistake has its name and question; others have their verdicts."""
    text = shown(feedback, rows)

    assert len(text.splitlines()) <= rows
    assert "It looks like this: The scores are not scaled." in text
    assert "?" in text.partition("It looks like this:")[2]
    assert text.count("not right yet") >= len(feedback.exercises)
    assert "Next: double." in text


def test_later_exercises_keep_the_names_of_their_mistakes(feedback: SelfCheckFeedback):
    """In 24 rows the later exercises lose their tables, and keep the names of their mistakes."""
    text = shown(feedback, 23)

    assert text.count("It looks like this:") == len(feedback.exercises)
    assert text.count("It uses double, which fails checks, so look there first.") == 2
    assert text.count("Expected") == 1


def test_without_a_terminal_everything_is_printed(feedback: SelfCheckFeedback):
    """In a pipe, each exercise has its table, and a dependency comes before it."""
    text = shown(feedback, None)

    assert text.count("Expected") == len(feedback.exercises)
    part = text[text.index("Scale") :]
    assert part.index("It uses double, which fails checks, so look there first.") < part.index(
        "Expected"
    )


def test_one_exercise_is_all_that_is_claimed(feedback: SelfCheckFeedback):
    """If one exercise was checked and passes, the sentence is about this one."""
    [one, *_] = feedback.exercises
    passed = replace(one, first=None, passed=(one.first,))
    text = shown(replace(feedback, exercises=(passed,), only="double"), None)

    assert "Every public check of double passes. Well done!" in text
