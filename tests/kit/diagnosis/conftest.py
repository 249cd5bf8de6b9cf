"""Provides a stage of attention without misconceptions, and a grader that names its mistakes."""

from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace

import pytest
import torch

from autograder.diagnosis.diagnostician import Diagnosed, diagnose
from autograder.diagnosis.live import LiveSource
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from autograder.diagnosis.mistakes.rewriting import Rewrite, Scope
from autograder.diagnosis.observation import Failure, Observation, Submitted
from autograder.diagnosis.student_code import StudentCode
from autograder.results import Diagnosis
from autograder.sandbox.faults import Raised
from autograder.suite.checks import WrongAnswer, check, expect
from autograder.suite.compare import agrees
from autograder.suite.in_process import LocalChannel, solution_channel
from autograder.suite.student_proxy import Student

STAGE_TOML = """
format_version = 1
title = "Tiny attention"
goal = "Attend."
module = "tiny"
"""
EXERCISE = """
[[exercise]]
name = "{}"
hints = ["a?", "b", "c"]
"""
SOLUTION = '''
"""Tiny attention."""

import torch
from torch import Tensor, nn


def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Attend."""
    ### BEGIN SOLUTION
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("queries and keys differ in size")
    scores = queries @ keys.T
    weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
    return weights @ values
    ### END SOLUTION


class Causal(nn.Module):
    """Attend to the past."""

    def __init__(self, d_in: int, d_out: int, dropout: float, qkv_bias: bool = False) -> None:
        """Create layers."""
        super().__init__()
        ### BEGIN SOLUTION
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Attend."""
        ### BEGIN SOLUTION
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)
        future = torch.ones_like(scores).triu(1) == 1
        masked = scores.masked_fill(future, float("-inf"))
        weights = self.dropout(torch.softmax(masked / keys.shape[-1] ** 0.5, dim=-1))
        return weights @ values
        ### END SOLUTION
'''.lstrip()
QUERIES, KEYS, VALUES = (
    torch.arange(float(rows * 4)).reshape(rows, 4).add(shift).cos()
    for rows, shift in ((3, 0.1), (5, 0.3), (5, 0.7))
)
TOKENS = torch.arange(30.0).reshape(2, 5, 3).sin()


def refuses_other_sizes(student: Student) -> None:
    """Refuse queries and keys of different sizes."""
    expect(student.refuses("attend", QUERIES[:, :3], KEYS, VALUES), "Nothing is refused.")


def attends(student: Student) -> None:
    """Compare the result with the right one."""
    result = student.call("attend", QUERIES, KEYS, VALUES)
    right = torch.softmax(QUERIES @ KEYS.T / 2, dim=-1) @ VALUES
    agrees(result, right)


def passes_gradients(student: Student) -> None:
    """Compare the gradient of the queries."""
    got = student.gradients("attend", QUERIES, KEYS, VALUES, cotangent=torch.ones(3, 4).cumsum(0))
    expect(all(one is not None for one in got.inputs), "No gradient arrives.")


def makes_layers(student: Student) -> None:
    """Compare the parameters with the right ones."""
    torch.default_generator.manual_seed(5)
    right = [torch.nn.Linear(3, 6, bias=False).weight for _ in range(3)]
    made = student.new("Causal", 3, 6, 0.5, seed=5).parameters()
    for name, weight in zip(("W_query", "W_key", "W_value"), right, strict=True):
        agrees(made[f"{name}.weight"].value, weight.detach())
    expect(len(made) == len(right), "There are other parameters.")


def has_biases(student: Student) -> None:
    """Ask for biases."""
    made = student.new("Causal", 3, 6, 0.5, qkv_bias=True, seed=5).parameters()
    expect(len(made) == 6, "There is no bias.")


def attends_to_the_past(student: Student) -> None:
    """Compare the result in eval mode with the right one."""
    module = student.new("Causal", 3, 6, 0.5, seed=5).eval()
    torch.default_generator.manual_seed(5)
    q, k, v = (torch.nn.Linear(3, 6, bias=False)(TOKENS).detach() for _ in range(3))
    scores = (q @ k.mT / 6**0.5).masked_fill(torch.ones(5, 5).triu(1) == 1, float("-inf"))
    agrees(module(TOKENS), scores.softmax(-1) @ v)


def drops_weights(student: Student) -> None:
    """Compare the result in training with that of dropped weights."""
    module = student.new("Causal", 3, 6, 0.5, seed=5)
    torch.default_generator.manual_seed(5)
    q, k, v = (torch.nn.Linear(3, 6, bias=False)(TOKENS).detach() for _ in range(3))
    scores = (q @ k.mT / 6**0.5).masked_fill(torch.ones(5, 5).triu(1) == 1, float("-inf"))
    torch.default_generator.manual_seed(9)
    agrees(module(TOKENS, seed=9), torch.nn.functional.dropout(scores.softmax(-1), 0.5) @ v)


CHECKS = {
    "attend": (refuses_other_sizes, attends, passes_gradients),
    "Causal": (makes_layers, has_biases, attends_to_the_past, drops_weights),
}
LAYERS = {"makes_layers": "parameters", "has_biases": "parameters", "passes_gradients": "gradients"}


SQUARES = Misconception(
    id="squares",
    exercise="double",  # of the tiny stage
    explanation="It is wrong.",
    question="Why?",
    swaps=(("2 * x", "x ** 2"),),
)


def observe(item: SimpleNamespace, channel: LocalChannel) -> Observation:
    """Run one check on *channel*."""
    student, ended = Student(channel), None
    try:
        item.check(student)
    except Exception as error:  # noqa: BLE001  # as a check ends
        ended = error
    return Observation(student.observed, ended, given_back=student.given_back)


class Grader:
    """Grades programs of the stage as a suite runner does, and names their mistakes."""

    def __init__(self, stage: object) -> None:
        self.stage = stage
        self.runs: list[str] = []
        self.solution = solution_channel(stage.solution)
        self.source = LiveSource(stage, self.run, self.solution)

    def run(self, item: SimpleNamespace, channel: LocalChannel) -> Observation:
        """Run one check on *channel*."""
        self.runs.append(item.name)
        return observe(item, channel)

    def diagnose(self, exercise: str, code: str) -> dict[str, Diagnosis]:
        """Grade *code* after the solution; name the mistake by check."""
        return dict(self.explain(exercise, code).diagnoses)

    def explain(self, exercise: str, code: str) -> Diagnosed:
        """Grade *code* after the solution; return also the programs behind its mistake."""
        text = f"{SOLUTION}\n\n{code}"
        channel = LocalChannel("student", text.encode())
        seen = [(item, self.run(item, channel)) for item in items(exercise)]
        failures = [Failure(item, shown) for item, shown in seen if shown.error]
        assert all(isinstance(one.observation.error, WrongAnswer | Raised) for one in failures)
        self.runs.clear()
        passed = [item for item, shown in seen if not shown.error]
        code = StudentCode((text.encode(),), CHECKS)
        return diagnose(self.source, Submitted(exercise, failures, passed, code))

    def kinds(self, exercise: str, code: str) -> set[str]:
        """Return the kinds of mistake that are named in *code*."""
        return {found.misconception for found in self.diagnose(exercise, code).values()}


def items(exercise: str) -> list[SimpleNamespace]:
    """List the checks of *exercise*, in the form of pytest's items."""
    return [item_of(exercise, asked) for asked in CHECKS[exercise]]


def item_of(exercise: str, asked: Callable[[Student], None]) -> SimpleNamespace:
    """Give *asked* the form of one of pytest's items."""
    layer = LAYERS.get(asked.__name__, "probe")
    mark = check(exercise, points=1, layer=layer).mark
    return SimpleNamespace(
        name=asked.__name__,
        nodeid=asked.__name__,
        check=asked,
        get_closest_marker=lambda _name: mark,
    )


@pytest.fixture
def write_stage(write_course) -> Callable[..., object]:
    """Write the stage, with its own file of misconceptions if one is given."""

    def write(misconceptions: str = "MISCONCEPTIONS = ()\n") -> object:
        exercises = "".join(map(EXERCISE.format, CHECKS))
        files = {
            "source/01_tiny/stage.toml": STAGE_TOML + exercises,
            "solutions/01_tiny/tiny.py": SOLUTION,
            "tests/hidden/01_tiny/misconceptions.py": misconceptions,
        }
        return write_course(files).stages[0]

    return write


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Let torch use one thread, as a grading process does: more only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def grader(write_stage, one_thread) -> Grader:  # noqa: ARG001  # requested for its effect
    """A grader of the stage without misconceptions."""
    return Grader(write_stage())


def lines_by_key(
    rules: Iterable[Callable[[Scope], Iterable[Rewrite]]], solution: str, name: str
) -> dict[str, list[str]]:
    """Return the changed lines of each wrong program, by the key of its kind."""
    code = ExerciseCode(solution, name, [name])
    right, found = code.text([]).splitlines(), dict[str, list[str]]()
    for scope in code.scopes:
        for rewrite in (one for rule in rules for one in rule(scope)):
            lines = [line.strip() for line in code.text([rewrite]).splitlines()]
            changed = [line for line in lines if line not in {one.strip() for one in right}]
            found.setdefault(rewrite.key, []).extend(changed)
    return found
