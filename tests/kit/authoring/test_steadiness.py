"""Tests finding results that rounding could decide, by shifting the numbers that a check sends."""

from collections.abc import Callable, Iterator

import pytest
import torch

from autograder.authoring.fingerprinting import ShiftedChannel, Steadiness, steadiness
from autograder.course import Course
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.suite.in_process import LocalChannel
from autograder.suite.student_proxy import Student
from tests.kit.factories import STAGE

CHECK = "test_doubles_unseen_numbers"
Rate = Callable[[str], Steadiness]


@pytest.fixture
def rate(tiny: Course) -> Iterator[Rate]:
    """Rates a version of `double` in a check with drawn numbers, which are smaller than 10."""
    stage = tiny.stage(STAGE)
    with open_suites(tiny, [stage]) as runner:
        yield lambda result: of(runner, result)


def of(runner: SuiteRunner, result: str, *, in_doubt: bool = False) -> Steadiness:
    """Rate the program whose `double` returns *result*."""
    code = f"import torch\n\n\ndef double(x):\n    return {result}\n"
    channel = LocalChannel("changed", code.encode())
    (item,) = (check.item for check in runner.checks(STAGE) if check.name == CHECK)
    seen = runner.run(item, channel)
    return steadiness(seen, item, channel, runner.run, in_doubt=in_doubt)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param("2 * x", Steadiness.STEADY, id="right"),
        pytest.param("3 * x", Steadiness.STEADY, id="wrong"),
        pytest.param("x.no_such_name", Steadiness.STEADY, id="raises"),
        pytest.param(
            "x[torch.stack([x, x * (1 + 1e-6)]).argmax():].no_such_name",
            Steadiness.UNSTEADY,
            id="chooses",
        ),
        pytest.param(
            "x[torch.stack([x, x]).argmax():].no_such_name",
            Steadiness.BORDERLINE,
            id="chooses-between-equals",
        ),
        pytest.param(
            "2 * x + 1e4 * (x - x.float().round(decimals=6))", Steadiness.UNSTEADY, id="enlarges"
        ),
        pytest.param(
            "torch.where(x.double() * 1e7 % 2 > 1, x, 2 * x)", Steadiness.UNSTEADY, id="compares"
        ),
        pytest.param("2 * x + 1e-4 * (1 + 2 * x.abs())", Steadiness.UNSTEADY, id="at-the-bound"),
        pytest.param("2 * x + 5e-6", Steadiness.STEADY, id="within-the-bound"),
    ],
)
def test_programs_are_rated(rate: Rate, result: str, expected: Steadiness):
    """A program is steady if small shifts, and its distance to the bounds, change nothing."""
    assert rate(result) is expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param("3 * x", Steadiness.STEADY, id="by-far"),
        pytest.param("2 * x + 2e-5", Steadiness.BORDERLINE, id="just-steady"),
    ],
)
def test_what_was_undecided_must_be_steadier(tiny: Course, result: str, expected: Steadiness):
    """A result that was undecided in the last build is decided only if clearly steady."""
    with open_suites(tiny, [tiny.stage(STAGE)]) as runner:
        assert of(runner, result) is Steadiness.STEADY
        assert of(runner, result, in_doubt=True) is expected


def test_whole_numbers_and_switches_are_sent_as_they_are():
    """Whole numbers and switches stay exact; floats are shifted, equal ones equally."""
    channel = LocalChannel("echo", b"def echo(x):\n    return x\n")
    student = Student(ShiftedChannel(channel, 1e-3))
    exact = torch.tensor([0.0, 2.0, -1000.0, torch.inf])
    numbers = torch.tensor([0.3, 0.3, 0.7, 1234.5])

    moved = student.call("echo", numbers)

    assert student.call("echo", exact).equal(exact)
    assert student.call("echo", exact > 0).equal(exact > 0)
    assert moved[0] == moved[1] != numbers[0]
    assert (moved - numbers).abs().max() <= 1.1e-3
