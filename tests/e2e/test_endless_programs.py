"""Tests that endless wrong programs made from a solution do not stop the kit.

Wrong programs are made from the solution, and run in the process of the command.
"""

from collections.abc import Iterator

import pytest

from autograder import course as courses
from autograder.authoring import release, verify
from autograder.course import Course
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import open_suites
from autograder.results import CheckResult, Status, SubmissionResult
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Code, Submission
from autograder.suite import in_process
from tests.kit.commands import forget_suites
from tests.kit.factories import COURSE_TOML, write_files

pytestmark = pytest.mark.slow  # a loop runs until its limit
STAGE = "01_loops"
STAGE_TOML = """
format_version = 1
title = "Sums"
goal = "Add numbers in three ways."
module = "sums"

[[exercise]]
name = "running_sum"
hints = ["Which numbers are added?", "One more each time.", "Append the total."]

[[exercise]]
name = "nested_sum"
hints = ["What is the sum for depth 0?", "Call the function.", "Return x for depth 0."]

[[exercise]]
name = "repeated_sum"
hints = ["How often?", "Repeat the rows.", "Sum over dim 0."]
"""
SOLUTION = '''
"""Sums."""

import torch
from torch import Tensor


def running_sum(x: Tensor) -> Tensor:
    """The running sum of x (T)."""
    ### BEGIN SOLUTION
    sums = []
    total = torch.zeros(())
    while len(sums) < len(x):
        total = total + x[len(sums)]
        sums.append(total)
    return torch.stack(sums)
    ### END SOLUTION


def nested_sum(x: Tensor, depth: int) -> Tensor:
    """The numbers x (T), added to themselves *depth* times."""
    ### BEGIN SOLUTION
    if depth == 0:
        return x
    return x + nested_sum(x, depth - 1)
    ### END SOLUTION


def repeated_sum(x: Tensor, times: int) -> Tensor:
    """The sum of *times* copies of x (T)."""
    ### BEGIN SOLUTION
    copies = x.repeat(times, 1)
    return copies.sum(dim=0)
    ### END SOLUTION
'''.lstrip()
SUITE = '''
"""Hidden suite of the sums."""

import torch

from autograder.suite.checks import check
from autograder.suite.compare import agrees


@check("running_sum", points=3, layer="probe")
def test_adds_five_numbers(student, reference):
    """Five numbers are added one by one."""
    x = torch.arange(5.0) + 1

    agrees(student.call("running_sum", x), reference.call("running_sum", x))


@check("running_sum", points=2, layer="probe")
def test_adds_nine_numbers(student, reference, probe):
    """Nine unseen numbers are added one by one."""
    x = probe.normal(9)

    agrees(student.call("running_sum", x), reference.call("running_sum", x))


@check("nested_sum", points=2, layer="probe")
def test_adds_three_times(student, reference):
    """The numbers are added to themselves three times."""
    x = torch.arange(5.0) + 1

    agrees(student.call("nested_sum", x, 3), reference.call("nested_sum", x, 3))


@check("repeated_sum", points=3, layer="probe")
def test_adds_copies(student, reference):
    """The copies are added."""
    x = torch.arange(5.0) + 1

    agrees(student.call("repeated_sum", x, 4), reference.call("repeated_sum", x, 4))
'''.lstrip()
MISCONCEPTIONS = '''
"""Wrong sums."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    Misconception(
        id="nothing_appended",
        exercise="running_sum",
        explanation="The loop never ends: nothing is appended to the list whose length it tests.",
        question="What changes between two rounds of the loop?",
        swaps=(("sums.append(total)", "sums = sums + []"),),
    ),
    Misconception(
        id="no_last_call",
        exercise="nested_sum",
        explanation="The function calls itself for ever: no depth ends it.",
        question="For which depth is the answer known?",
        swaps=(("if depth == 0:", "if depth == -0.5:"),),
    ),
    Misconception(
        id="copies_of_copies",
        exercise="repeated_sum",
        explanation="The copies do not fit into memory.",
        question="How many copies are there?",
        swaps=(("x.repeat(times, 1)", "x.repeat(times * 10**9, 1)"),),
    ),
)
'''.lstrip()
VARIANT = SOLUTION.replace("    ### BEGIN SOLUTION\n", "").replace("    ### END SOLUTION\n", "")
HOLLOW = """
import torch


def running_sum(x):
    return torch.zeros_like(x)


def nested_sum(x, depth):
    return torch.zeros_like(x)


def repeated_sum(x, times):
    return torch.zeros_like(x)
""".lstrip()
FILES = {
    "course.toml": COURSE_TOML.format(stages=f'"{STAGE}"') + "[limits]\ncall_seconds = 0.5\n",
    "tests/hidden/documented.toml": "format_version = 1\ntokens = []\ntensor = []\n",
    f"source/{STAGE}/stage.toml": STAGE_TOML,
    f"solutions/{STAGE}/sums.py": SOLUTION,
    f"tests/hidden/{STAGE}/test_sums.py": SUITE,
    f"tests/hidden/{STAGE}/misconceptions.py": MISCONCEPTIONS,
    f"tests/hidden/{STAGE}/hollow.py": HOLLOW,
}
ENDLESS = VARIANT.replace("sums.append(total)", "total = total + 0")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    """The built course; a wrong program gets less time than usual, which changes no answer."""
    root = tmp_path_factory.mktemp("loops") / "course"
    write_files(root, FILES)
    with pytest.MonkeyPatch.context() as patch, forget_suites():
        patch.setattr(in_process, "WRONG_SECONDS", 0.3)
        patch.setattr(in_process, "AGAIN_SECONDS", 0.1)
        course = courses.load(root)
        release.build(course)
        yield course


@pytest.fixture(scope="module")
def results(course: Course) -> dict[str, SubmissionResult]:
    """The results of a student who wrote endless code, and of one who did not."""
    texts = {"endless": ENDLESS, "right": VARIANT}
    with (
        open_suites(course, course.stages) as runner,
        ForkServer("process", course.limits) as fork_server,
    ):
        fork_server.wait_ready()
        return {
            name: grade_one(runner, fork_server, submission(name, text))
            for name, text in texts.items()
        }


def submission(student: str, text: str) -> Submission:
    """Return a module as a submission."""
    code = Code(kind="module", cells=(text.encode(),), label="sums.py")
    return Submission(student=student, stage=STAGE, code=code)


def checks_of(result: SubmissionResult, exercise: str) -> list[CheckResult]:
    """List the checks of one exercise."""
    return [check for one in result.exercises if one.name == exercise for check in one.checks]


def test_verify_ends_and_names_what_does_not_end(course: Course):
    """`verify` ends and names a loop, a recursion and an allocation without bounds."""
    assert verify.verify(course, full=True).findings == ()


def test_an_endless_loop_of_a_student_is_named(results: dict[str, SubmissionResult]):
    """A student's endless loop is named by a misconception that does not end either."""
    checks = checks_of(results["endless"], "running_sum")

    assert {check.status for check in checks} == {Status.TIMEOUT}
    assert {check.diagnosis.misconception for check in checks if check.diagnosis} == {
        "nothing_appended"
    }


def test_the_rest_goes_on(results: dict[str, SubmissionResult]):
    """After an endless program the other exercises and students are graded."""
    assert results["endless"].score == 5.0
    assert results["right"].score == 10.0
