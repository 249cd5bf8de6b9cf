"""Tests that a check that has passed does not run again for the same replies."""

import pickle
from collections.abc import Callable, Iterator

import pytest

from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import CheckResult, Outcome, SubmissionResult
from autograder.sandbox.session import Session
from autograder.sandbox.supervisor import ForkServer
from tests.kit.factories import SOLUTION

SUITE = "tests/hidden/01_tiny/test_tiny.py"
COUNTING = """
import itertools
import torch
from autograder.suite.checks import check, WrongAnswer
from autograder.results import Status

runs = {"a": 0, "b": 0}

@check("Scale", points=5, layer="probe")
def test_a(student, probe):
    runs["a"] += 1
    scale = student.new("Scale", 2).load({"factor": probe.normal(2)})
    if scale(probe.normal(3, 2)).shape != (3, 2):
        raise WrongAnswer(Status.WRONG_SHAPE, "The shape is wrong.")
    student.call("double", probe.normal(2))

@check("double", points=5, layer="laws")
def test_b(student, probe):
    runs["b"] += 1
    student.uses("double")
    student.call("double", probe.normal(2))
"""
SLOW = SOLUTION.replace(
    "super().__init__()", "super().__init__()\n        import time\n        time.sleep(0.3)"
)

BALLAST = "torch.full((1 << 20,), float(NAME))"

Grade = Callable[[str], SubmissionResult]


@pytest.fixture
def runner(write_course) -> Iterator[SuiteRunner]:
    """A suite that counts how often its checks run."""
    course = write_course({SUITE: COUNTING})
    with open_suites(course, course.stages) as opened:
        yield opened


@pytest.fixture
def grade(runner: SuiteRunner, fork_server: ForkServer, submit) -> Grade:
    """Grade a module."""
    return lambda code: grade_one(runner, fork_server, submit(code))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The verbs of each message, in order."""
    messages: list[tuple[str, ...]] = []
    real = Session.send

    def send(session: Session, batch: bytes, verbs: tuple[str, ...]) -> object:
        messages.append(verbs)
        return real(session, batch, verbs)

    monkeypatch.setattr(Session, "send", send)
    return messages


def runs_of(runner: SuiteRunner) -> dict[str, int]:
    """Return how often each check has run."""
    item = runner.checks("01_tiny")[0].item
    return dict(item.module.runs)  # type: ignore[attr-defined]  # the suite's own


def check_of(result: SubmissionResult, name: str) -> CheckResult:
    """Return the result of check *name*."""
    checks = [check for exercise in result.exercises for check in exercise.checks]
    return next(check for check in checks if check.name == name)


def test_a_check_does_not_run_again_for_the_same_replies(runner: SuiteRunner, grade: Grade):
    """A submission with known replies passes a check, and the check does not run again."""
    first, second = grade(SOLUTION), grade(f"{SOLUTION}\nNAME = 'bob'\n")

    assert runs_of(runner)["a"] == 1
    assert (first.score, second.score) == (10.0, 10.0)
    assert first.exercises == second.exercises


def test_the_replies_of_the_solution_are_known_before_the_first_submission(
    runner: SuiteRunner, grade: Grade
):
    """Replies of the solution are known first, so a right submission runs no check again."""
    runner.require_right_solutions()
    result = grade(SOLUTION)

    assert runs_of(runner) == {"a": 1, "b": 2}  # b reads the source
    assert result.score == 10.0


def test_requests_are_sent_together_up_to_one_that_returns_a_value(
    grade: Grade, sent: list[tuple[str, ...]]
):
    """Once replies are known, requests without a value are sent together with the next one."""
    grade(SOLUTION)
    first = list(sent)
    sent.clear()
    grade(SOLUTION)

    assert ("new", "load", "forward") not in first
    assert ("new", "load", "forward") in sent


def test_a_check_that_reads_the_source_runs_for_each(runner: SuiteRunner, grade: Grade):
    """A check that reads the source runs for each submission, because the source is not a reply."""
    grade(SOLUTION)
    grade(SOLUTION)

    assert runs_of(runner)["b"] == 2


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(SOLUTION.replace("x * self.factor", "x.sum(-1)"), id="another-value"),
        pytest.param(SOLUTION.replace("torch.rand(d)", "None"), id="raises-at-the-second"),
        pytest.param(SOLUTION.replace("return x * self", "raise KeyError(d) #"), id="raises"),
        pytest.param(SOLUTION.replace("super().__init__()", "exit()"), id="ends-its-process"),
        pytest.param(
            SOLUTION.replace("class Scale(nn.Module)", "class Scale(list)"), id="no-module"
        ),
        pytest.param(SOLUTION.replace("return 2 * x", "return None"), id="no-value-at-the-end"),
    ],
)
def test_a_wrong_program_has_the_same_result_before_and_after_a_right_one(
    grade: Grade, runner: SuiteRunner, wrong: str
):
    """Known replies change no grade and no word of the feedback."""
    before = grade(wrong)
    runner._known.clear()
    grade(SOLUTION)

    assert grade(wrong) == before


def test_a_constructor_and_a_call_have_a_time_limit_each(
    runner: SuiteRunner, fork_server: ForkServer, submit, monkeypatch: pytest.MonkeyPatch
):
    """A constructor and a call in one message each have their own time limit."""
    grade_one(runner, fork_server, submit(SOLUTION))
    limits = fork_server.limits
    monkeypatch.setattr(fork_server, "limits", type(limits)(call_seconds=0.5))
    slow = SLOW.replace("return x * self", "import time; time.sleep(0.3)\n        return x * self")
    result = grade_one(runner, fork_server, submit(slow))

    assert check_of(result, "test_a").outcome is Outcome.PASSED


def test_of_endless_replies_not_all_are_kept(
    grade: Grade, monkeypatch: pytest.MonkeyPatch, runner: SuiteRunner
):
    """Beyond the limit of bytes, replies are not kept, and a check runs again."""
    grade(SOLUTION)
    known = runner._known[runner.checks("01_tiny")[0].item.nodeid]
    monkeypatch.setattr(known, "_free_bytes", 0)
    other = SOLUTION.replace("x * self.factor", "x + self.factor")
    results = [grade(other), grade(other)]

    assert runs_of(runner)["a"] == 3
    assert [result.score for result in results] == [10.0, 10.0]


def test_a_large_reply_is_not_kept(grade: Grade, runner: SuiteRunner):
    """Only the digest of a large reply with which a check has passed is kept."""
    heavy = SOLUTION.replace("x * self.factor", "x + NAME").replace("2 * x", BALLAST)
    results = [grade(f"{heavy}\nNAME = {number}\n") for number in range(3)]
    kept = len(pickle.dumps(runner._known))  # all of it, wherever it is

    assert [result.score for result in results] == [10.0] * 3
    assert runs_of(runner)["a"] == 3
    assert kept < 10_000


def test_a_check_that_asks_otherwise_for_the_same_replies_runs_as_it_is(
    write_course, fork_server: ForkServer, submit
):
    """A check that depends on more than replies runs each time."""
    suite = """
import itertools
from autograder.suite.checks import check
numbers = itertools.count()

@check("double", points=10)
def test_a(student):
    student.call("double", 1)
    student.call("double", next(numbers))
"""
    course = write_course({SUITE: suite})
    with open_suites(course, course.stages) as runner:
        results = [grade_one(runner, fork_server, submit(SOLUTION)) for _ in range(3)]

    assert [result.score for result in results] == [10.0, 10.0, 10.0]
