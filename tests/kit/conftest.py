"""A tiny course, and one fork server that forks the workers of every test."""

import copy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from autograder import course
from autograder.course import Course, Limits
from autograder.results import (
    CheckResult,
    ExerciseResult,
    Outcome,
    Results,
    Status,
    SubmissionResult,
)
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.session import Session
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Code, Submission

MakeCheck = Callable[..., CheckResult]
MakeSubmission = Callable[..., SubmissionResult]
MakeResults = Callable[..., Results]

COURSE = """
format_version = 1
id = "tiny"
title = "Tiny"
stages = [{stages}]
"""

STAGE = """
format_version = 1
title = "Tiny things"
goal = "Double and scale."
minutes = 5
module = "tiny"

[[exercise]]
name = "double"
hints = ["How much is twice?", "Add it to itself.", "x + x"]

[[exercise]]
name = "Scale"
hints = ["What is learned?", "One factor.", "x * self.factor"]
"""

SOLUTION = '''
"""Two tiny things."""

import torch
from torch import Tensor, nn


def double(x: Tensor) -> Tensor:
    """Twice x, shape unchanged."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION


class Scale(nn.Module):
    """A learned factor for each of d features."""

    def __init__(self, d: int) -> None:
        """Draw the factors uniformly."""
        super().__init__()
        ### BEGIN SOLUTION
        self.factor = nn.Parameter(torch.rand(d))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Scale each feature, (..., d) to (..., d)."""
        ### BEGIN SOLUTION
        return x * self.factor
        ### END SOLUTION
'''.lstrip()

HIDDEN = '''
"""Hidden suite of the tiny stage."""

from autograder.suite.checks import check
from autograder.suite.compare import agrees


@check("double", points=2, layer="documented")
def test_doubles_the_documented_numbers(student, documented):
    """Twice the documented numbers are the documented doubles."""
    documented["tiny.doubled"].matches(student.call("double", documented["tiny.numbers"].tensor))


@check("double", points=3, layer="probe")
def test_doubles_unseen_numbers(student, reference, probe):
    """Twice unseen numbers is right too."""
    x = probe.normal(3, 2)

    agrees(student.call("double", x), reference.call("double", x))


@check("Scale", points=5, layer="probe")
def test_scales_each_feature(student, reference, probe):
    """With given factors, each feature is scaled by its own."""
    x, factor = probe.normal(3, 2), probe.normal(2)
    yours = student.new("Scale", 2).load({"factor": factor})
    ours = reference.new("Scale", 2).load({"factor": factor})

    agrees(yours(x), ours(x))
'''.lstrip()

PUBLIC = '''
"""Public suite of the tiny stage."""

import torch

from autograder.suite.checks import check
from autograder.suite.compare import reads_like


@check("double", points=1)
def test_doubles_one(student):
    """Twice one is two."""
    reads_like(student.call("double", torch.ones(2)), [2.0, 2.0])
'''.lstrip()

MISCONCEPTIONS = '''
"""Wrong answers of the tiny stage."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    Misconception(
        id="squares",
        exercise="double",
        explanation="The numbers were squared.",
        question="What is twice three?",
        swaps=(("2 * x", "x ** 2"),),
    ),
    Misconception(
        id="scales_by_nothing",
        exercise="Scale",
        explanation="The factor is not used.",
        question="Where does the factor go?",
        swaps=(("x * self.factor", "x * 1"),),
    ),
)
'''.lstrip()

LEDGER = """
format_version = 1
tokens = ["one", "two", "three"]

[[tensor]]
name = "tiny.numbers"
document = "tiny"
cell = "In [1]"
drawn = "given"
decimals = 1
exact = true
stage = ["01_tiny"]
value = [0.5, 1.5, 2.5]

[[tensor]]
name = "tiny.doubled"
document = "tiny"
cell = "In [2]"
drawn = "computed"
decimals = 4
stage = ["01_tiny"]
value = [1.0, 3.0, 5.0]
"""

WriteCourse = Callable[..., Course]
Submit = Callable[..., Submission]
OpenSession = Callable[..., Session]


def write_files(root: Path, files: dict[str, str]) -> None:
    """Write *files*, text by path, below *root*."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def course_files(stages: tuple[str, ...]) -> dict[str, str]:
    """Every authored file of a course whose stages all teach the same two tiny things."""
    head = COURSE.format(stages=", ".join(f'"{name}"' for name in stages))
    files = {"course.toml": head, "tests/hidden/documented.toml": LEDGER}
    for name in stages:
        files |= stage_files(name)
    return files


def stage_files(name: str) -> dict[str, str]:
    """The authored files of one stage."""
    return {
        f"source/{name}/stage.toml": STAGE,
        f"source/{name}/test_public.py": PUBLIC,
        f"solutions/{name}/tiny.py": SOLUTION,
        f"tests/hidden/{name}/test_tiny.py": HIDDEN,
        f"tests/hidden/{name}/misconceptions.py": MISCONCEPTIONS,
    }


@pytest.fixture
def write_course(tmp_path: Path) -> Iterator[WriteCourse]:
    """Write the tiny course, with some files replaced or added, and load it."""
    known = set(sys.modules)

    def write(
        changed: dict[str, str] | None = None, stages: tuple[str, ...] = ("01_tiny",)
    ) -> Course:
        root = tmp_path / "course"
        write_files(root, course_files(stages) | (changed or {}))
        return course.load(root)

    yield write
    for name in set(sys.modules) - known:  # pytest knows suites by names that return in every test
        if name.startswith(("tests.hidden", "source")):
            del sys.modules[name]


@pytest.fixture
def tiny(write_course: WriteCourse) -> Course:
    """The tiny course: stage 01_tiny with function `double` and module `Scale`."""
    return write_course()


@pytest.fixture
def submit() -> Submit:
    """Hand in text as a student's module, or several texts as the cells of a notebook."""

    def hand_in(*cells: str, student: str = "alice", stage: str = "01_tiny") -> Submission:
        kind = "module" if len(cells) == 1 else "notebook"
        code = Code(kind=kind, cells=tuple(cell.encode() for cell in cells), label="tiny.py")
        return Submission(student=student, stage=stage, code=code)

    return hand_in


@pytest.fixture
def solved(submit: Submit) -> Submission:
    """The solution, handed in."""
    return submit(SOLUTION)


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """A real fork server, as strict as this machine can be."""
    with ForkServer(detect_capabilities().level, Limits(call_seconds=20.0)) as running:
        running.wait_ready()
        yield running


@pytest.fixture
def lent_fork_server(fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> ForkServer:
    """Lend the fork server to whatever starts one: a test need not wait for torch again."""
    lent = copy.copy(fork_server)
    lent.wait_ready = lambda _user=0: None
    lent.close = lambda: None
    for room in ("autograder.grading.grade", "autograder.grading.context"):
        monkeypatch.setattr(f"{room}.ForkServer", lambda *_arguments, **_options: lent)
    return lent


@pytest.fixture
def open_session(fork_server: ForkServer) -> Iterator[OpenSession]:
    """Make a session over texts, with some limits of its own; several texts are a notebook."""
    opened: list[Session] = []

    def make(*cells: str, **limits: float) -> Session:
        narrowed = copy.copy(fork_server)
        narrowed.limits = msgspec.structs.replace(fork_server.limits, **limits)
        codes = tuple(cell.encode() for cell in cells)
        opened.append(Session(narrowed, "tiny", codes, notebook=len(cells) > 1))
        return opened[-1]

    yield make
    for session in opened:
        session.close()


@pytest.fixture
def check() -> MakeCheck:
    """Make a check worth two points; any field can be given."""

    def make(outcome: Outcome = Outcome.PASSED, **fields: object) -> CheckResult:
        passed = outcome is Outcome.PASSED
        facts = {
            "name": "test_doubles",
            "title": "Twice one is two.",
            "status": Status.OK if passed else Status.WRONG_VALUE,
            "points": 2.0 if passed else 0.0,
            "max_points": 2.0,
        }
        return CheckResult(outcome=outcome, **(facts | fields))

    return make


@pytest.fixture
def submission() -> MakeSubmission:
    """Make a submission of one exercise, `double`, out of its checks; any field can be given."""

    def make(*checks: CheckResult, **fields: object) -> SubmissionResult:
        exercise = ExerciseResult.of("double", checks)
        facts = {
            "student": "alice",
            "stage": "01_tiny",
            "status": Status.GRADED,
            "score": exercise.score,
            "max_score": exercise.max_score or None,
            "exercises": (exercise,) if checks else (),
        }
        return SubmissionResult(**(facts | fields))

    return make


@pytest.fixture
def results() -> MakeResults:
    """Make the record of a run out of its submissions."""

    def make(*submissions: SubmissionResult) -> Results:
        return Results(course="tiny", isolation="full", submissions=submissions)

    return make
