"""Tests feedback as values: its derived properties."""

from dataclasses import replace

import pytest

from autograder.reports.feedback import (
    CheckFeedback,
    Dependency,
    ExerciseFeedback,
    Feedback,
    Message,
    Printed,
    Title,
    percent,
)

EXERCISE = ExerciseFeedback(
    number=1, name="double", score=1.0, max_score=4.0, state="in progress", first=None, later=(),
    passed=(), hints=(),
)  # fmt: skip
FEEDBACK = Feedback(
    student="ada", stage="Tiny things", course="Tiny", score=1.0, max_score=4.0, headline="",
    encouragement="", message="", next_step="", exercises=(), notices=(), ignored=(), sha256="",
)  # fmt: skip


@pytest.mark.parametrize(("score", "share"), [(1, 25.0), (4, 100.0), (5, 100.0), (-1, 0.0)])
def test_a_share_is_between_0_and_100(score: float, share: float):
    """A share is between 0 and 100 for any record, and 0 if there is nothing to earn."""
    assert percent(score, 4) == share
    assert percent(score, 0) == 0.0


def test_an_exercise_without_points_is_whole_if_its_checks_pass():
    """A copy of an earlier exercise has nothing to earn, and its checks still count."""
    wrong = CheckFeedback("Adds.", "✗", "not right yet", points=0.0, max_points=0.0)
    right = replace(EXERCISE, score=0.0, max_score=0.0)
    broken = replace(right, first=wrong)

    assert (right.complete, right.percent, right.points) == (True, 100.0, "no points")
    assert (broken.complete, broken.percent, broken.points) == (False, 99.0, "no points")


def test_exercises_are_open_until_no_point_is_missing():
    """Exercises with missing points are open and come first on a page."""
    done = replace(EXERCISE, score=4.0)
    feedback = replace(FEEDBACK, exercises=(EXERCISE, done))

    assert (feedback.open, feedback.done) == ((EXERCISE,), (done,))
    assert (feedback.percent, feedback.full) == (25.0, False)


def test_a_message_next_to_full_points_is_not_a_problem():
    """The title of a message about a check with full points states that no points are lost."""
    assert FEEDBACK.message_title == "What happened"
    assert replace(FEEDBACK, score=4.0).message_title == "No points lost, but worth knowing"


def test_a_problem_has_a_title_unless_its_word_is_enough():
    """The first problem is a title with its blocks, and empty without blocks or without code."""
    check = CheckFeedback("Adds.", "✗", "not right yet", points=0.0, max_points=1.0)
    differs = Message("It differs.")
    found = replace(EXERCISE, first=replace(check, blocks=(differs,)))

    assert found.problem == (Title("Adds."), differs)
    assert replace(EXERCISE, first=check).problem == ()
    assert replace(found, state="not written yet").problem == ()


def test_output_is_shown_once_and_only_if_no_check_failed():
    """An exercise that passes has the output of its first check that printed something."""
    one, two = (Printed(text) for text in ("one", "two"))
    passed = [CheckFeedback("a", "✓", "passed", 1.0, 1.0, (block,)) for block in (one, two)]
    complete = replace(EXERCISE, passed=tuple(passed))

    assert complete.printed == (one,)
    assert replace(complete, first=passed[0]).printed == ()


def test_notes_are_messages_of_checks_with_full_points():
    """Notes leave out checks with our code, and repeat no message of the public suite."""
    full = CheckFeedback("a", "✓", "passed", 1.0, 1.0, (Message("Unclear."),))
    withheld = replace(full, points=0.0)
    hidden = replace(full, blocks=(Message("Unclear; run the public suite."),))
    noted = replace(EXERCISE, passed=(full, hidden, withheld))

    assert noted.notes == (Message("Note: Unclear."),)
    assert replace(noted, passed=(replace(full, mark="~"),)).notes == ()


@pytest.mark.parametrize(
    ("mark", "message", "line"),
    [
        pytest.param("!", "f raised ValueError in line 17: x = 1\nline 3", 17, id="exception"),
        pytest.param("·", "f is not defined: line 63 is not valid Python", 63, id="syntax-error"),
        pytest.param("!", "f raised ValueError\nsee line 3", 0, id="only-in-the-student's-text"),
        pytest.param("!", "f raised ValueError in cell 2, line 3: x", 0, id="cell"),
        pytest.param("✗", "f(x) has a wrong line 3", 0, id="wrong-result"),
    ],
)
def test_the_line_of_a_problem_is_the_one_that_the_kit_names(mark: str, message: str, line: int):
    """An editor opens at the line of an exception or of a syntax error in the module."""
    first = CheckFeedback("A title.", mark, "a word", 0.0, 1.0, (Message(message),))

    assert replace(EXERCISE, first=first).line == line


def test_a_dependency_comes_before_the_problem():
    """An exercise that uses a wrong one says so first, and names it."""
    first = CheckFeedback("A title.", "✗", "a word", 0.0, 1.0, (Message("No."),))
    problem = replace(EXERCISE, first=first, uses=("Norm", "scale")).problem

    assert problem[0] == Dependency(
        "It uses Norm and scale, which fail checks, so look there first."
    )
    assert replace(EXERCISE, uses=("Norm",)).problem == ()
