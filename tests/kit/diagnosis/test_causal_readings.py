"""The reader of causal readings: which failures it reads, and with which calls it compares."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from autograder.diagnosis.causal_readings import CausalReader
from autograder.diagnosis.observation import Failure, Observation
from autograder.results import Diagnosis, Status
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import Reply, Request
from autograder.suite.checks import WrongAnswer
from autograder.suite.in_process import Exchange, LocalChannel, RecordingChannel
from autograder.suite.student_proxy import Channel, Student

SOLUTION = """
def earlier(x):
    return x.cumsum(-2)

def scaled(x):
    return x * x.shape[-1] ** -0.5
"""
LATER = "def earlier(x):\n    return x.sum(-2, keepdim=True).expand(x.shape)\n"
ROWS = "def scaled(x):\n    return x * x.shape[-2] ** -0.5\n"
Check = Callable[[Student], object]
CHECKS: dict[str, Check] = {
    "earlier": lambda student: student.call("earlier", torch.rand(4, 3)),
    "scaled": lambda student: student.call("scaled", torch.rand(5, 3)),
    "scaled_more": lambda student: student.call("scaled", torch.rand(4, 2)),
    "gradients": lambda student: student.gradients("scaled", torch.rand(4, 2)),
}


class Reading:
    """A reader of checks on the solution, which it solves once more each time."""

    def __init__(self, folder: Path) -> None:
        path = folder / "solution.py"
        path.write_text(SOLUTION, "utf-8")
        self.solved = list[str]()
        stage: Any = SimpleNamespace(solution=path)
        self.reader = CausalReader(stage, self.solve)

    def solve(self, check: pytest.Item) -> tuple[Observation, list[Exchange]]:
        """Run *check* on the solution."""
        self.solved.append(check.name)
        recording = RecordingChannel(LocalChannel("solved", SOLUTION.encode()))
        return shown(check.name, recording, None), recording.exchanges

    def read(
        self, channel: LocalChannel, names: Sequence[str], checks: Sequence[str] = ()
    ) -> dict[str, Diagnosis]:
        """Read in *channel* why the checks *names* fail; the exercise has *checks*."""
        failures = [Failure(item(one), shown(one, channel, WRONG)) for one in names]
        return self.reader.read(channel, failures, list(map(item, checks)))


WRONG = WrongAnswer(Status.WRONG_VALUE, "Wrong.")


def item(name: str) -> Any:
    """A check, of which only the name counts."""
    return SimpleNamespace(name=name, nodeid=name)


def shown(name: str, channel: Channel, error: BaseException | None) -> Observation:
    """Return what a check shows, which ends with *error*."""
    student = Student(channel)
    CHECKS[name](student)
    return Observation(student.observed, error)


def changed(code: str) -> LocalChannel:
    """Return a channel to the solution with other definitions."""
    return LocalChannel("changed", (SOLUTION + code).encode())


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    """A reader of a solution with two functions."""
    return Reading(tmp_path)


def test_a_wrong_result_is_described_by_what_it_depends_on(reading: Reading):
    """The call of the failed check is repeated on both sides."""
    found = reading.read(changed(LATER), ["earlier"])

    assert {name: one.misconception for name, one in found.items()} == {"earlier": "later_token"}


def test_other_checks_show_which_size_a_number_is(reading: Reading):
    """With one check alone, nothing says whether a number is a size."""
    alone = reading.read(changed(ROWS), ["scaled"])
    with_others = reading.read(changed(ROWS), ["scaled"], ["scaled", "scaled_more", "earlier"])

    assert "number of rows of x" not in alone["scaled"].explanation
    assert "2.236 (the root of the number of rows of x)" in with_others["scaled"].explanation


def test_right_results_are_not_described(reading: Reading):
    """A check may fail for something else, such as a forbidden function."""
    assert reading.read(changed(""), ["earlier", "scaled"]) == {}


def test_an_exception_is_not_described(reading: Reading):
    """Only an answer with wrong numbers is compared."""
    channel = changed(LATER)
    raised = Failure(item("earlier"), shown("earlier", channel, Fault(Status.CRASHED, "Over.")))

    assert reading.reader.read(channel, [raised], []) == {}


def test_all_wrong_answers_of_an_exercise_get_one_reading(reading: Reading):
    """One mistake is said once, whatever checks it fails."""
    found = reading.read(changed(ROWS), ["scaled", "scaled_more"])

    assert set(found) == {"scaled", "scaled_more"}
    assert len({one.explanation for one in found.values()}) == 1


class SilentChannel(LocalChannel):
    """Code that answers a check, and nothing afterwards."""

    def ask_every(self, requests: Sequence[Request]) -> tuple[Reply, ...]:  # noqa: ARG002  # none
        """Raise, as a session does whose process is over."""
        msg = "Over."
        raise Fault(Status.CRASHED, msg)


def test_nothing_is_said_of_code_that_no_longer_answers(reading: Reading):
    """The results of the checks are there already, and stay as they are."""
    channel = SilentChannel("silent", (SOLUTION + LATER).encode())

    assert reading.read(channel, ["earlier"]) == {}
