"""Tests which checks of a submission are diagnosed."""

from typing import NamedTuple

from autograder.diagnosis.observation import Failure, Observation
from autograder.diagnosis.student_code import StudentCode
from autograder.grading.prices import Graded
from autograder.grading.start import Start
from autograder.results import CheckResult, Outcome, Status
from autograder.suite.checks import CheckSpec, CollectedCheck, Layer


class Item(NamedTuple):
    """A check of pytest."""

    name: str


WRONG = Observation((), AssertionError())


def submitted(*outcomes, given=()):
    """Return what to diagnose of checks with these *outcomes*; *given* pass with neighbours."""
    start, checks, results = Start(StudentCode((), ())), [], []
    for number, outcome in enumerate(outcomes):
        item = Item(f"check_{number}")
        checks.append(CollectedCheck(item, CheckSpec("attend", 1.0, Layer.PROBE, (), ())))
        results.append(
            CheckResult(
                name=item.name,
                title="",
                outcome=outcome,
                status=Status.OK,
                points=0.0,
                max_points=1.0,
                message="",
            )
        )
        if outcome is Outcome.FAILED:
            start.failures.setdefault("attend", []).append(Failure(item, WRONG))
    start.failures.setdefault("attend", [])
    graded = Graded(checks, results, dict.fromkeys(given, "project"))
    found = start.submitted(graded)
    return [one.item.name for one in found.failures], [one.name for one in found.passed]


def test_what_passes_with_right_neighbours_is_not_diagnosed():
    """The mistake is in the other exercise, and its check is evidence that this one is right."""
    found = submitted(Outcome.FAILED, Outcome.FAILED, Outcome.PASSED, given=["check_1"])

    assert found == (["check_0"], ["check_1", "check_2"])


def test_what_did_not_run_is_neither_wrong_nor_right():
    """A skipped check is not evidence."""
    assert submitted(Outcome.SKIPPED) == ([], [])
