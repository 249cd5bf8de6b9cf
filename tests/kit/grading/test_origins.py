"""Tests that a wrong copy is reported by the checks of the stage that it comes from."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder import course as courses
from autograder.course import Course
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import open_suites
from autograder.results import CheckResult, ExerciseResult, Outcome
from autograder.sandbox.supervisor import ForkServer
from tests.kit.commands import forget_suites
from tests.kit.factories import SOLUTION, STAGE_TOML, course_files, write_files

FIRST, SECOND = "01_tiny", "02_tiny"
SQUARED = SOLUTION.replace("2 * x", "x ** 2")
RIGHT_FOR_ONES = SOLUTION.replace("return 2 * x", "return x + 1 if (x == 1).all() else x ** 2")
UNWRITTEN = SOLUTION.replace("return 2 * x", "raise NotImplementedError")
OF_FIRST = f" (A check of {FIRST}.)"
CHECKS_OF_THE_COPY = '''
"""The second stage has a copy of `double`, and one check of it."""

import torch

from autograder.suite.checks import check
from autograder.suite.compare import agrees


@check("double", points=0, layer="probe")
def test_still_doubles(student):
    """Two is twice one."""
    agrees(student.call("double", torch.ones(3)), 2 * torch.ones(3))


@check("Scale", points=10, layer="probe")
def test_scales(student):
    """The factor scales."""
    yours = student.new("Scale", 3).load({"factor": 2 * torch.ones(3)})
    agrees(yours(torch.ones(3)), 2 * torch.ones(3))
'''
Double = Callable[..., ExerciseResult]


@pytest.fixture
def copying(tmp_path: Path) -> Iterator[Course]:
    """A course of two stages, whose second stage copies `double` from the first."""
    copy = f'name = "double"\ncopied_from = "{FIRST}"'
    files = course_files((FIRST, SECOND)) | {
        f"source/{SECOND}/stage.toml": STAGE_TOML.replace('name = "double"', copy),
        f"tests/hidden/{SECOND}/test_tiny.py": CHECKS_OF_THE_COPY,
    }
    write_files(tmp_path, files)
    with forget_suites():
        yield courses.load(tmp_path)


@pytest.fixture
def double(copying: Course, fork_server: ForkServer, submit) -> Double:
    """Grade text as the second stage, and return the result of the copy."""

    def grade(text: str) -> ExerciseResult:
        with open_suites(copying, [copying.stage(SECOND)]) as runner:
            result = grade_one(runner, fork_server, submit(text, stage=SECOND))
        assert result.score == 10.0
        return result.exercises[0]

    return grade


def names(checks: tuple[CheckResult, ...]) -> list[str]:
    """List the names of checks."""
    return [check.name for check in checks]


def test_a_wrong_copy_is_reported_by_the_checks_of_its_own_stage(double: Double):
    """These checks give no points, and their titles name the stage. The mistake has a name, too."""
    found = double(SQUARED)

    assert names(found.checks) == [
        "test_doubles_the_documented_numbers",
        "test_doubles_unseen_numbers",
    ]
    assert [check.title.endswith(OF_FIRST) for check in found.checks] == [True, True]
    assert (found.score, found.max_score) == (0.0, 0.0)
    assert found.checks[0].diagnosis.explanation == "The numbers were squared."


def test_the_checks_of_a_copy_show_no_values(double: Double):
    """The code has met hidden inputs by then, which its answers could contain."""
    documented, _ = double(SQUARED).checks

    assert documented.grid is None
    assert not any(digit in documented.message for digit in "0123456789")


def test_the_checks_of_a_copy_stay_if_they_alone_name_the_mistake(copying: Course, double: Double):
    """The first stage has no name for cubes, and the second one does."""
    bank = copying.stage(SECOND).misconceptions
    cubed = bank.read_text().replace("x ** 2", "x ** 3").replace("were squared", "were cubed")
    bank.write_text(cubed)
    found = double(SOLUTION.replace("2 * x", "x ** 3"))

    assert names(found.checks) == ["test_still_doubles"]
    assert found.checks[0].diagnosis.explanation == "The numbers were cubed."


def test_a_right_copy_keeps_its_own_checks(double: Double):
    """The first stage is not needed."""
    assert names(double(SOLUTION).checks) == ["test_still_doubles"]


def test_what_the_checks_of_the_copy_accept_is_right(double: Double):
    """The stage with the copy decides, which asks for less."""
    assert [check.outcome for check in double(RIGHT_FOR_ONES).checks] == [Outcome.PASSED]


def test_a_copy_that_is_not_written_stays_so(double: Double):
    """Nothing is wrong with a stub."""
    assert names(double(UNWRITTEN).checks) == ["test_still_doubles"]


def test_without_its_stage_a_copy_has_its_own_checks_only(copying: Course, double: Double):
    """A smaller course may lack the first stage, or its suite may be broken."""
    copying.stage(FIRST).hidden_suite.write_text("import nothing_like_this\n")

    assert names(double(SQUARED).checks) == ["test_still_doubles"]
