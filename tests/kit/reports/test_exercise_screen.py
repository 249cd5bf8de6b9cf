"""Tests the answer about one exercise in terminals of any height."""

import pytest
from msgspec.structs import replace

from autograder.course import Course
from autograder.reports.exercise_screen import (
    Rank,
    exercise_screen,
    fit,
    optional,
    spaced,
    whole,
)
from autograder.reports.feedback_builder import build_exercise_feedback
from autograder.reports.terminal import render
from autograder.results import CheckResult, Outcome
from tests.kit.factories import MakeCheck, MakeSubmission


@pytest.fixture
def parts(tiny: Course, submission: MakeSubmission, failed_check: CheckResult):
    """Return the parts of an answer with a diagnosis, a message and tables."""
    result = submission(failed_check)
    feedback = build_exercise_feedback(tiny.stages[0], result, "double")
    return list(exercise_screen(feedback, 80, ": press d"))


def shown(parts, rows: int) -> str:
    """Return the screen of a terminal with this many rows."""
    return render(fit(parts, 80, rows), 80, colour=False)


def test_tables_lose_the_difference_first_then_all_rows_but_one(parts):
    """Tables shrink while the name of the mistake and the question stay."""
    full = render(whole(parts), 80, colour=False)
    both, row, pair, note = (shown(parts, rows) for rows in (25, 12, 11, 7))

    assert full.count("0.9000*") == 6
    assert "Difference" not in both
    assert both.count("0.9000*") == 6
    for words in ("The first wrong row: ", "Expected ", "Yours ", "Difference ", "press d"):
        assert words in row
    assert "Difference" not in pair
    assert "Expected " in pair
    assert "Yours " in pair
    assert "… 6 more rows of numbers: press d" in note
    for screen in (full, both, row, pair, note):
        assert "It looks like this: The scores are not scaled." in screen
        assert "How long are the vectors?" in screen


def test_without_a_diagnosis_the_wrong_row_stays_longer_than_bar_and_heading(
    tiny: Course, submission: MakeSubmission, failed_check: CheckResult
):
    """Where nothing else says what is wrong, the numbers do; a name takes their place."""

    def screen(check: CheckResult) -> str:
        feedback = build_exercise_feedback(tiny.stages[0], submission(check), "double")
        around = [optional(Rank.HEADING, "heading"), spaced(Rank.BAR, "bar")]
        return shown([*around, *exercise_screen(feedback, 80, ": press d")], 9)

    named, unnamed = screen(failed_check), screen(replace(failed_check, diagnosis=None))

    assert "heading" in named
    assert "Yours " not in named
    assert "heading" not in unnamed
    assert "bar" not in unnamed
    assert "Expected " in unnamed
    assert "Yours " in unnamed


def test_a_message_without_a_diagnosis_keeps_its_first_row(
    tiny: Course, check: MakeCheck, submission: MakeSubmission
):
    """A message without a diagnosis keeps its first row, its only explanation."""
    failed = check(Outcome.FAILED, message="\n".join(f"line {number}" for number in range(9)))
    feedback = build_exercise_feedback(tiny.stages[0], submission(failed), "double")
    parts = list(exercise_screen(feedback, 80))

    assert "line 0" in shown(parts, 2)
    assert "line 8" not in shown(parts, 8)
    assert "line 8" in shown(parts, 30)


def test_an_exercise_that_passes_has_one_row_where_there_is_little_room(
    tiny: Course, check: MakeCheck, submission: MakeSubmission
):
    """In a small terminal a passing exercise has one row, without its note."""
    noted = submission(check(message="This counts, but it is unclear."))
    parts = list(exercise_screen(build_exercise_feedback(tiny.stages[0], noted, "double"), 80))

    assert shown(parts, 1) == "✓ double passes.\n"
    assert "unclear" in shown(parts, 2)
