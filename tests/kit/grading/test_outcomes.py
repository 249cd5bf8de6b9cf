"""What students read about the end of a check and of a submission."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch

from autograder.course import Course, Reveal
from autograder.grading.grade import grade
from autograder.grading.outcomes import (
    MAX_NOTICES,
    CheckOutcome,
    describe_problem,
    failed_grading,
    import_submission,
    missing_exercise,
    notices_of,
    submission_status,
    unreadable,
)
from autograder.results import CheckResult, Status
from autograder.sandbox.faults import Fault, Raised
from autograder.sandbox.protocol import Problem
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Submission
from autograder.suite.checks import CheckSpec, CollectedCheck, Layer, WrongAnswer
from autograder.suite.compare import agrees

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
    lent_fork_server: ForkServer,  # noqa: ARG001  # used instead of a new one
) -> Callable[[str], dict[str, CheckResult]]:
    """Grade a misconception in a course with this ``[reveal]``; return its checks by name."""

    def graded(reveal: str) -> dict[str, CheckResult]:
        head = f'format_version = 1\nid = "tiny"\ntitle = "Tiny"\nstages = ["01_tiny"]\n{reveal}'
        course = write_course({"course.toml": head})
        result = grade(course, [submit(WRONG)], jobs=1).submissions[0]
        return {check.name: check for exercise in result.exercises for check in exercise.checks}

    return graded


def test_a_hidden_check_names_the_mistake_but_no_value(checks):
    """By default a hidden check names the property and the mistake, and shows no tensor."""
    hidden = checks("")["test_doubles_unseen_numbers"]

    assert hidden.message == "The result has wrong values."
    assert hidden.diagnosis is not None
    assert hidden.diagnosis.misconception == "squares"
    assert hidden.grid is None


def test_a_course_may_reveal_nothing_about_hidden_checks(checks):
    """With `hidden_checks = "nothing"` a hidden check says only that it did not pass."""
    hidden = checks('[reveal]\nhidden_checks = "nothing"\n')["test_doubles_unseen_numbers"]

    assert hidden.outcome == "failed"
    assert (hidden.message, hidden.diagnosis) == ("", None)


def test_a_course_may_hide_documented_values(checks):
    """With `documented_values = false` a documented check shows no tensor and no number."""
    shown = checks("")["test_doubles_the_documented_numbers"]
    hidden = checks("[reveal]\ndocumented_values = false\n")["test_doubles_the_documented_numbers"]

    assert shown.grid is not None
    assert hidden.grid is None
    assert hidden.message == "The result has wrong values."


NOTHING = Reveal(hidden_checks="nothing", documented_values=False)
RAISED = Raised("ValueError", "boom", "double raised ValueError in line 3: boom", public="no word")


def probe_outcome(*, public: bool) -> CheckOutcome:
    """Return the outcome of a check with hidden inputs in a course that reveals nothing."""
    item = SimpleNamespace(name="test_a")
    check = CollectedCheck(item, CheckSpec("double", 1.0, Layer.PROBE, ()))
    return CheckOutcome(check, NOTHING, public=public)


def wrong_answer() -> WrongAnswer:
    """Return how a comparison of two small tensors ends."""
    with pytest.raises(WrongAnswer) as caught:
        agrees(torch.ones(2), torch.zeros(2))
    return caught.value


def test_a_public_check_shows_the_exception_in_every_layer():
    """Whatever the course reveals: it is the reader's own code."""
    assert probe_outcome(public=True).failed(RAISED).message == RAISED.message
    assert probe_outcome(public=False).failed(RAISED).message == ""


def test_a_public_check_shows_values_in_every_layer():
    """Also those that a check with hidden inputs must not show."""
    shown, hidden = (
        probe_outcome(public=public).failed(wrong_answer()) for public in (True, False)
    )

    assert "by up to 1.0000" in shown.message
    assert shown.grid.yours == (("1.0000", "1.0000"),)
    assert (hidden.message, hidden.grid) == ("", None)


def test_a_public_check_shows_why_an_answer_is_unusable():
    """The error is the check's own, about the reader's answer."""
    error = AttributeError("a list has no shape")

    assert (
        "AttributeError: a list has no shape" in probe_outcome(public=True).unusable(error).message
    )
    assert "AttributeError" not in probe_outcome(public=False).unusable(error).message


def test_what_was_printed_is_shown_beside_a_public_check_that_failed():
    """Beside a hidden check it could show hidden inputs, beside one that passed nobody asks."""
    public, hidden = probe_outcome(public=True), probe_outcome(public=False)

    assert public.add_printed(public.failed(RAISED), "x = 3").printed == "x = 3"
    assert public.add_printed(public.passed(), "x = 3").printed == ""
    assert hidden.add_printed(hidden.failed(RAISED), "x = 3").printed == ""


LINE = Problem(kind="raised", type="ValueError", text="bad\nworse", line=7, code="int('x')")
CELL = Problem(kind="raised", type="ValueError", text="bad", line=2, place="cell 3")


def session(**fields: object) -> SimpleNamespace:
    """Return a session of a module that was imported without a problem."""
    return SimpleNamespace(**({"notebook": False, "problems": ()} | fields))


def test_a_problem_is_described_by_its_place():
    """A cell has a number; a module is not read below the line."""
    assert describe_problem(CELL) == "cell 3, line 2 raised ValueError: bad"
    assert describe_problem(LINE) == (
        "line 7 raised ValueError while your file was imported, "
        "and nothing below it was read: bad (int('x'))"
    )


def test_only_so_many_cells_are_reported():
    """A module has no cells."""
    problems = (CELL,) * (MAX_NOTICES + 1)

    assert len(notices_of(session(notebook=True, problems=problems))) == MAX_NOTICES
    assert notices_of(session(problems=problems)) == ()


def test_the_status_of_a_submission_is_its_first_problem():
    """A failing cell is only a notice."""
    fault = Fault(Status.CRASHED, "It crashed.")

    assert submission_status(session(), None) == (Status.GRADED, "")
    assert submission_status(session(problems=(LINE,)), fault) == (Status.CRASHED, "It crashed.")
    assert submission_status(session(problems=(LINE,)), None)[0] is Status.IMPORT_ERROR
    assert submission_status(session(notebook=True, problems=(CELL,)), None)[0] is Status.GRADED


@pytest.mark.parametrize(
    ("fields", "status", "excerpt"),
    [
        pytest.param({}, Status.MISSING, "not defined in your file", id="not-defined"),
        pytest.param({"problems": (LINE,)}, Status.IMPORT_ERROR, "not reached", id="not-reached"),
        pytest.param(
            {"notebook": True, "problems": (CELL,)}, Status.MISSING, "not defined", id="notebook"
        ),
    ],
)
def test_a_missing_exercise_has_a_reason(fields: dict, status: Status, excerpt: str):
    """The public sentence does not quote the student's exception."""
    found = missing_exercise(
        session(ask=lambda *_verb, **_fields: SimpleNamespace(value=False), **fields), "double"
    )

    assert found is not None
    assert found.status is status
    assert excerpt in found.message
    assert "ValueError" not in found.public


def test_an_exercise_that_is_defined_is_not_missing():
    """The worker answers that the module has it."""
    defined = session(ask=lambda *_verb, **_fields: SimpleNamespace(value=True))

    assert missing_exercise(defined, "double") is None


def test_a_fault_while_importing_is_returned():
    """Then no check can run."""
    fault = Fault(Status.TIMEOUT, "It took too long.")

    def fail() -> None:
        raise fault

    assert import_submission(session(open=fail)) is fault
    assert import_submission(session(open=lambda: None)) is None


def test_only_a_failure_of_the_grader_gives_no_grade(submit):
    """A submission that can't be read earns nothing."""
    submission = submit("x = 1")

    assert unreadable(submission).score == 0
    assert failed_grading(submission, ValueError("Our bug.")).score is None
    assert "not the student" in failed_grading(submission, ValueError("Our bug.")).message
