"""Tests feedback in a terminal: on a graded submission, and on a student's own check."""

import re
from itertools import product
from pathlib import Path

import pytest
from rich.cells import cell_len

from autograder.course import Course
from autograder.reports.exercise_screen import self_check_text
from autograder.reports.feedback_builder import build_self_check
from autograder.reports.terminal import feedback_text
from autograder.results import (
    CheckResult,
    Grid,
    Outcome,
    Results,
    Status,
    SubmissionResult,
)
from tests.kit.factories import MakeCheck, MakeSubmission

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def test_the_terminal_shows_what_the_page_shows(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, failed_check: CheckResult
):
    """The terminal shows the points, the first failure, the mistake and the question."""
    result = submission(
        check(), failed_check, failed_check, notices=("Cell 7 raised.",), ignored=("a.txt",)
    )
    text = feedback_text(tiny, result, 100, colour=False)

    for words in (
        "Tiny things", "Feedback for alice", "2 of 6 points", "2 checks left",
        "✗ not right yet: The weights are the documented ones.", "differs in 6 of 36 entries",
        "It looks like this: The scores are not scaled.", "How long are the vectors?",
        "`autograder hint double` has", "✓ 1 passed already", "- Cell 7 raised.", "- a.txt",
    ):  # fmt: skip
        assert words in text


def test_weights_are_shaded_and_wrong_ones_have_a_star(
    tiny: Course, submission: MakeSubmission, failed_check: CheckResult
):
    """Shades and stars are readable without color, and digits are below each other."""
    text = feedback_text(tiny, submission(failed_check), 100, colour=False)

    assert "Your    ▒0.1000  ▒0.1100" in text
    assert "journey █0.9000* █0.9000*" in text


def test_three_small_tables_are_side_by_side_where_there_is_room(
    tiny: Course, check: MakeCheck, submission: MakeSubmission
):
    """Three small tables are next to each other, or below each other in a narrow terminal."""
    row = (("0.1", "0.2"),)
    grid = Grid(row, row, row, ((False, True),))
    result = submission(check(Outcome.FAILED, grid=grid))
    wide, narrow = (feedback_text(tiny, result, width, colour=False) for width in (80, 24))

    assert re.search("Expected +Yours +Difference", wide)
    assert not re.search("Expected +Yours", narrow)


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_no_line_is_wider_than_the_terminal(
    tiny: Course, graded_class: Results, hostile: Results, width: int
):
    """Wide tables continue below, as NumPy prints a wide array; no digit is cut off."""
    results = [*graded_class.submissions, *hostile.submissions]
    texts = [feedback_text(tiny, item, width, colour=False) for item in results]

    assert max(cell_len(line) for text in texts for line in text.splitlines()) <= width
    assert texts[1].count("0.9000*") == 6


def test_without_colour_there_is_no_escape_at_all(
    tiny: Course, graded_class: Results, monkeypatch: pytest.MonkeyPatch
):
    """Output without color contains no escape sequence."""
    monkeypatch.setenv("FORCE_COLOR", "1")

    for result in graded_class.submissions:
        assert "\x1b" not in feedback_text(tiny, result, 80, colour=False)


def test_colour_adds_colour_and_changes_no_word(
    tiny: Course, graded_class: Results, monkeypatch: pytest.MonkeyPatch
):
    """A red line also contains the words "not right yet"."""
    monkeypatch.setenv("NO_COLOR", "1")

    for result in graded_class.submissions:
        plain, coloured = (feedback_text(tiny, result, 80, colour=on) for on in (False, True))
        words = "\n".join(line.rstrip() for line in COLOURS.sub("", coloured).splitlines())

        assert "\x1b[" in coloured
        assert words == plain.rstrip("\n")


def test_nothing_that_a_student_wrote_acts_on_the_terminal(tiny: Course, hostile: Results):
    """A student's text has no escape or markup, and a bounded number of lines."""
    for result, colour in product(hostile.submissions, (True, False)):
        text = COLOURS.sub("", feedback_text(tiny, result, 80, colour=colour))

        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
        assert len(text) < 60_000


def test_markup_is_shown_as_it_was_written(
    tiny: Course, check: MakeCheck, submission: MakeSubmission
):
    """Brackets and emoji codes in a text are shown as they are."""
    result = submission(check(Outcome.FAILED, message="KeyError: [red]x[/red] :smile:"))

    assert "KeyError: [red]x[/red] :smile:" in feedback_text(tiny, result, 80, colour=False)


def test_checks_that_add_nothing_are_counted(
    tiny: Course, check: MakeCheck, submission: MakeSubmission
):
    """The same sentence is shown once, not ten times."""
    stub = check(Outcome.ERRORED, message="double still raises NotImplementedError in line 3.")
    text = feedback_text(tiny, submission(*[stub] * 10), 80, colour=False)

    assert text.count("NotImplementedError") == 1
    assert "9 more failed in the same way" in text


def self_check(tiny: Course, result: SubmissionResult, width: int = 80) -> str:
    """The output of `autograder check` for *result*."""
    feedback = build_self_check(tiny.stages[0], result, Path("/home/ada/tiny.py"), hidden=False)
    return self_check_text(feedback, Path("/home/ada"), (width, None), colour=False)


def test_a_self_check_shows_the_first_problem_and_the_next_step(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, failed_check: CheckResult
):
    """`check` shows the same tables and diagnosis as the graded feedback."""
    text = self_check(tiny, submission(check(), failed_check, notices=("cell 7 raised.",)))
    graded = feedback_text(tiny, submission(failed_check), 80, colour=False)

    for words in (
        "Tiny things\nChecked: tiny.py\n", "✗ double  not right yet",
        "  This must hold: The weights are the documented ones.",
        "It looks like this: The scores are not scaled.",
        "Note: Cell 7 raised.", "Next: double.", "The public suite ran: 1 of 2 checks pass.",
    ):  # fmt: skip
        assert words in text
    assert graded[graded.index("  Expected") : graded.index("Rows: queries")] in text


def test_a_note_is_shown_below_what_passes(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, failed_check: CheckResult
):
    """A message of a check with full points is shown in both kinds of feedback."""
    noted = check(message="This counts, but it is unclear.")
    done = self_check(tiny, submission(noted))
    graded = feedback_text(tiny, submission(noted, failed_check), 80, colour=False)
    full = feedback_text(tiny, submission(noted), 80, colour=False)

    assert "✓ double\n  Note: This counts, but it is unclear." in full
    assert "✓ double\n  Note: This counts, but it is unclear." in done
    assert "✓ 1 passed already\n    Note: This counts, but it is unclear." in graded


def test_a_hidden_suite_that_is_here_is_offered(
    tiny: Course, check: MakeCheck, submission: MakeSubmission
):
    """Where the hidden suite is installed, one line contains the command to run it."""
    run = submission(check())
    stage, file = tiny.stages[0], Path("/home/ada/tiny.py")
    feedback = build_self_check(stage, run, file, hidden=False, hidden_is_here=True)
    text = self_check_text(feedback, file.parent, (200, None), colour=False)

    assert "The hidden suite is here: run `autograder check --hidden`." in text


def test_a_complete_self_check_says_so(tiny: Course, check: MakeCheck, submission: MakeSubmission):
    """A complete stage has no next exercise."""
    text = self_check(tiny, submission(check()))

    assert "✓ double\n\nEvery public check passes. Well done!" in text
    assert "Next" not in text


def test_what_stopped_the_whole_file_is_shown_once(
    tiny: Course, check: MakeCheck, submission: MakeSubmission
):
    """An exercise that could not be checked has one line."""
    skipped = check(Outcome.SKIPPED, status=Status.IMPORT_ERROR, message="double is not defined.")
    text = self_check(tiny, submission(skipped, message="line 3 is not valid Python."))

    assert "\nLine 3 is not valid Python.\n\n· double  not checked yet\n\nNext: fix" in text
    assert "is not defined" not in text


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_hostile_self_check_stays_inside_the_terminal(tiny: Course, hostile: Results, width: int):
    """The output has no control characters and no line wider than the terminal."""
    for result in hostile.submissions:
        text = self_check(tiny, result, width)

        assert max(map(cell_len, text.splitlines())) <= width
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


def test_an_exercise_that_is_right_with_our_code_is_not_complete(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, given_check: CheckResult
):
    """Points with our code are shown separately, and no bar is full."""
    done = submission(check(), given_check)
    text = feedback_text(tiny, done, 100, colour=False)
    begun = feedback_text(tiny, submission(check(Outcome.ERRORED), given_check), 100, colour=False)

    assert "4 of 4 points, of which 2 with our code in place of other exercises" in text
    assert "Right with our half in place of yours." in text
    assert "double  2 of 4 points, of which 2 with our code" in begun
    assert "~ double  right with our half in place of yours" in self_check(tiny, done)
