"""Tests errors that are carried forward to the exercises that use a wrong one."""

from types import SimpleNamespace

import pytest
import torch

from autograder.diagnosis.carry_forward import CarryForward
from autograder.diagnosis.observation import Failure, Observation
from autograder.results import Status
from autograder.sandbox.faults import Fault
from autograder.sandbox.static_names import definitions, parse
from autograder.suite.checks import WrongAnswer, check
from autograder.suite.in_process import solution_channel
from tests.kit.diagnosis.conftest import SQUARES
from tests.kit.factories import CHAIN, SOLUTION, chain_files


def check_with(needs: tuple[str, ...] = ()) -> SimpleNamespace:
    """A check of ``quadruple`` that uses the exercises *needs* itself."""
    mark = check("quadruple", points=1, layer="probe", needs=needs).mark
    return SimpleNamespace(name="test_a", nodeid="test_a", get_closest_marker=lambda _: mark)


CHECK = check_with()
NUMBERS = torch.tensor([0.5, -1.5, 3.0])
SOURCE = definitions(parse(((SOLUTION + CHAIN).encode(),)))


def wrong(answer: object, status: Status = Status.WRONG_VALUE) -> Observation:
    """The observation of a check that failed after *answer*."""
    return Observation((("call", answer),), WrongAnswer(status, "It is wrong."))


@pytest.mark.parametrize(
    ("seen", "carried"),
    [
        pytest.param(wrong(NUMBERS), {"test_a"}, id="a-tensor"),
        pytest.param(wrong([0.5]), {"test_a"}, id="a-number"),
        pytest.param(wrong([1, 8, 9]), {"test_a"}, id="whole-numbers"),
        pytest.param(wrong([4, 4, 4]), set(), id="one-whole-number-repeated"),
        pytest.param(wrong({"W": NUMBERS}), {"test_a"}, id="parameters"),
        pytest.param(
            wrong({"output": NUMBERS, "gradients": {"W": NUMBERS}}), {"test_a"}, id="gradients"
        ),
        pytest.param(wrong({"output": NUMBERS, "gradients": {"W": None}}), set(), id="no-gradient"),
        pytest.param(wrong(NUMBERS * torch.nan), set(), id="nan"),
        pytest.param(wrong(NUMBERS * 0), set(), id="a-constant"),
        pytest.param(wrong(NUMBERS.log()), {"test_a"}, id="nan-in-one-row"),
        pytest.param(wrong(torch.tensor(2.5)), {"test_a"}, id="a-tensor-of-one-number"),
        pytest.param(wrong(None), set(), id="nothing"),
        pytest.param(wrong(NUMBERS, Status.FORBIDDEN), set(), id="what-ran"),
        pytest.param(wrong(NUMBERS)._replace(changed_inputs=True), set(), id="a-changed-input"),
        pytest.param(Observation((), WrongAnswer(Status.WRONG_TYPE, "No.")), set(), id="no-answer"),
        pytest.param(Observation((), Fault(Status.TIMEOUT, "Late.")), set(), id="no-end"),
    ],
)
def test_only_what_an_answer_shows_is_carried(write_course, seen: Observation, carried: set[str]):
    """Points are carried only if the answer still depends on the exercise above."""
    stage = write_course(chain_files("01_tiny")).stages[0]
    solution = solution_channel(stage.solution)
    carrier = CarryForward(stage, lambda _check, _channel: seen, solution)
    found = carrier.find(SOURCE, "quadruple", [Failure(CHECK, seen)], [], [SQUARES])

    assert (found.checks if found else set()) == carried


@pytest.mark.parametrize(("needs", "carried"), [((), set()), (("double",), {"test_a"})])
def test_a_check_may_pass_the_wrong_exercise(write_course, needs: tuple[str, ...], carried):
    """A mistake in an object that a check passes to an exercise counts as used by it."""
    stage = write_course(chain_files("01_tiny")).stages[0]
    alone = definitions(parse(((SOLUTION + "\ndef quadruple(x):\n    return 4 * x\n").encode(),)))
    seen = wrong(NUMBERS)
    carrier = CarryForward(stage, lambda _check, _channel: seen, solution_channel(stage.solution))
    found = carrier.find(alone, "quadruple", [Failure(check_with(needs), seen)], [], [SQUARES])

    assert (found.checks if found else set()) == carried


def test_a_check_runs_once_on_a_program(write_course):
    """A second submission with the same mistake needs no further run."""
    runs: list[str] = []
    stage = write_course(chain_files("01_tiny")).stages[0]
    seen = wrong(NUMBERS)

    def run(check: SimpleNamespace, _channel: object) -> Observation:
        runs.append(check.name)
        return seen

    carrier = CarryForward(stage, run, solution_channel(stage.solution))
    carrier.find(SOURCE, "quadruple", [Failure(CHECK, seen)], [], [SQUARES])
    first = len(runs)
    carrier.find(SOURCE, "quadruple", [Failure(CHECK, seen)], [], [SQUARES])

    assert first > 0
    assert len(runs) == first
