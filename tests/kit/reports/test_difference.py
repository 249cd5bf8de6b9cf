"""Tests the comparison of two records."""

import pytest
from msgspec.structs import replace

from autograder.reports.difference import compare, difference_lines
from autograder.results import Audit, CheckResult, Outcome, Results, Settings

AUDIT = Audit(graded="", seconds=0.0, isolation="full", suite_sha256="old", key="")
SETTINGS = Settings(
    kit="1",
    kit_sha256="a",
    course_sha256="b",
    python="3.11",
    torch="2.3",
    machine="x",
    packages_sha256="c",
    limits={"call_seconds": 3.0},
)


@pytest.fixture
def right(check) -> CheckResult:
    """A check that passed."""
    return check()


@pytest.fixture
def wrong(check) -> CheckResult:
    """The same check, failed."""
    return check(Outcome.FAILED)


def lines(old: Results, new: Results) -> list[str]:
    """The output of `autograder diff`."""
    return [line.strip() for line in difference_lines(compare(old, new))]


def test_equal_records_do_not_differ(results, submission, right):
    """Records that differ only in sentences and times are equal."""
    old = results(submission(right, audit=AUDIT))
    new = results(submission(replace(right, message="Well done."), audit=replace(AUDIT, seconds=9)))

    assert compare(old, new).submissions == ()
    assert lines(old, new) == ["1 submission compared: 0 gained, 0 lost, 0 changed in checks only."]


def test_who_gained_and_who_lost_is_named_with_the_check(results, submission, right, wrong):
    """Students whose points changed are listed, first those who lost some."""
    old = results(
        submission(wrong), submission(right, student="bert"), submission(right, student="c")
    )
    new = results(
        submission(right), submission(wrong, student="bert"), submission(right, student="c")
    )

    assert lines(old, new) == [
        "3 submissions compared: 1 gained, 1 lost, 0 changed in checks only.",
        "-2  bert, 01_tiny: 2 → 0",
        "-2  double, test_doubles: passed (ok) → failed (wrong-value)",
        "+2  alice, 01_tiny: 0 → 2",
        "+2  double, test_doubles: failed (wrong-value) → passed (ok)",
    ]


def test_a_change_of_points_alone_is_shown_in_points(results, submission, right):
    """If only the points of a check changed, its outcome is printed once."""
    other = replace(right, points=2.5, max_points=2.5)

    assert "+0.5  double, test_doubles: passed (ok), 2 of 2 → 2.5 of 2.5 points" in lines(
        results(submission(right)), results(submission(other))
    )


def test_a_change_without_points_is_named_too(results, submission, wrong):
    """A check that fails in a different way, or carries its points forward, is listed."""
    old = results(submission(wrong))
    new = results(submission(replace(wrong, outcome=Outcome.ERRORED, status="raised")))

    assert lines(old, new)[:1] == [
        "1 submission compared: 0 gained, 0 lost, 1 changed in checks only."
    ]
    assert "=  double, test_doubles: failed (wrong-value) → errored (raised)" in lines(old, new)


def test_what_is_in_one_record_only_is_named(results, submission, right, check):
    """Students and checks of one record only are listed."""
    new_check = check(name="test_more", points=1.0)
    old = results(submission(right), submission(right, student="gone"))
    new = results(submission(right, new_check), submission(right, student="new", score=None))

    assert lines(old, new)[1:] == [
        "+1  alice, 01_tiny: 2 → 3",
        "+1  double, test_more: not there → passed (ok)",
        "only in the old record: gone, 01_tiny: 2",
        "only in the new record: new, 01_tiny: no grade",
    ]


def test_a_grade_that_is_missing_is_neither_gained_nor_lost(results, submission, right):
    """A missing grade, as after an error of the grader, is neither gained nor lost."""
    old, new = results(submission(right)), results(submission(right, score=None))

    assert "=  alice, 01_tiny: 2 → no grade" in lines(old, new)


def test_other_circumstances_are_named(results, submission, right):
    """A different suite, version or limit is listed, even if no grade differs."""
    old = replace(results(submission(right, audit=AUDIT)), settings=SETTINGS)
    other = replace(SETTINGS, torch="2.4", kit_sha256="z", limits={"call_seconds": 4.0})
    new = replace(
        results(submission(right, audit=replace(AUDIT, suite_sha256="new"))),
        settings=other,
        isolation="process",
    )

    assert lines(old, new)[1:] == [
        "isolation: full → process",
        "kit_sha256 differs",
        "torch: 2.3 → 2.4",
        "limits differs",
        "the suite of 01_tiny differs",
    ]
    assert lines(replace(old, settings=None), new)[1] == "isolation: full → process"
