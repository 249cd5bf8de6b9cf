"""Tests the report on kinds of mistake in a stage: their results and their names."""

import pytest

from autograder.authoring import kinds_report, release
from autograder.authoring.kinds_report import BANK, OWN, UNNAMED, KindsReport
from autograder.course import Course
from autograder.diagnosis import fingerprints
from autograder.grading.suite_runner import open_suites
from tests.factories import HIDDEN, WriteCourse
from tests.kit.commands import forget_suites

SUITE = "tests/hidden/01_tiny/test_tiny.py"
BANK_FILE = "tests/hidden/01_tiny/misconceptions.py"
HIDES_SCALE = HIDDEN.replace('points=5, layer="probe"', 'points=5, layer="probe", hidden="drawn"')
COMPARES_NOTHING = HIDDEN.replace(
    'agrees(student.call("double", x), reference.call("double", x))',
    'student.call("double", x), reference.call("double", x)',
).replace('documented["tiny.doubled"].matches(', 'documented["tiny.doubled"], (')


def reported(course: Course) -> KindsReport:
    """Build *course*, and count the programs of its only stage."""
    stage = course.stages[0]
    with forget_suites():
        release.build(course)
    with forget_suites():
        known = fingerprints.from_json(stage.fingerprints.read_bytes())
        with open_suites(course, [stage]) as runner:
            return kinds_report.report(runner, stage, known)


def test_programs_that_fail_are_counted_by_their_names(tiny: Course):
    """Programs are counted by the mistake that is named, which may be a misconception."""
    report = reported(tiny)

    assert report.names[OWN] >= 5
    assert report.names[BANK] >= 1
    assert report.names.total() < report.programs
    assert report.line.startswith(f"{report.kinds} kinds of mistake in {report.programs} programs")


@pytest.mark.slow
def test_without_a_bank_kinds_are_named(write_course: WriteCourse):
    """A stage without misconceptions has its mistakes named by kinds."""
    with_bank = reported(write_course({}))
    course = write_course({BANK_FILE: ""})
    course.stages[0].misconceptions.unlink()
    report = reported(course)

    assert report.names[BANK] == 0
    assert report.names.total() == with_bank.names.total()
    assert report.names[UNNAMED] == with_bank.names[UNNAMED]


@pytest.mark.slow
def test_what_only_hidden_checks_notice_is_counted(write_course: WriteCourse):
    """Programs that only hidden checks fail are counted."""
    everywhere = reported(write_course({}))
    report = reported(write_course({SUITE: HIDES_SCALE}))

    assert everywhere.only_hidden == 0
    assert report.only_hidden > 0
    assert report.names.total() + report.only_hidden == everywhere.names.total()


def test_what_no_check_notices_is_listed(write_course: WriteCourse):
    """A program that passes every check although its sum is wrong is listed."""
    course = write_course({SUITE: COMPARES_NOTHING})
    report = reported(course)
    listed = kinds_report.unnoticed(course, course.stages[0])

    assert [kind.change for kind in listed] == [kind.change for kind in report.unnoticed]
    assert "wrong_operation (-return 2 * x +return 2 + x)" in [kind.change for kind in listed]
