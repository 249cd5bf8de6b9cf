"""Tests that arguments in the wrong order in a constructor cost points in one check only."""

import ast
import shutil
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.grading.suite_runner import open_suites
from autograder.results import Outcome
from autograder.submission import Code, Submission
from autograder.suite.constructors import constructors_in
from autograder.suite.in_process import LocalChannel
from tests.e2e.conftest import GradeClass
from tests.kit.commands import run_here

STAGE, EXERCISE = "07_causal_attention", "CausalAttention"
SENTENCE = (
    "The constructor of CausalAttention takes (d_in, d_out, dropout, context_length, qkv_bias); "
    "it must take its arguments in the order (d_in, d_out, context_length, dropout, qkv_bias)."
)
OTHER_ORDERS = [
    pytest.param(
        "        dropout: float,\n        context_length: int,\n        qkv_bias: bool = False,\n",
        SENTENCE,
        id="swapped",
    ),
    pytest.param(
        "        *,\n        context_length: int,\n        dropout: float,\n"
        "        qkv_bias: bool = False,\n",
        "takes (d_in, d_out, *, context_length, dropout, qkv_bias);",
        id="only-by-name",
    ),
]


def with_arguments(course: Course, arguments: str) -> str:
    """Return the solution of the stage with different arguments after d_out."""
    text = course.stage(STAGE).solution.read_text("utf-8")
    right = (
        "        context_length: int,\n        dropout: float,\n        qkv_bias: bool = False,\n"
    )

    assert text.count(right) == 1
    return text.replace(right, arguments)


def submission(text: str) -> Submission:
    """Return the submission of a module with this text."""
    code = Code(kind="module", cells=(text.encode(),), label="causal_attention.py")
    return Submission(student="swapped", stage=STAGE, code=code)


@pytest.mark.parametrize(("arguments", "sentence"), OTHER_ORDERS)
def test_another_order_costs_only_the_first_check(
    grade_class: GradeClass, course: Course, arguments: str, sentence: str
):
    """The exercise loses only the points of its first check, which shows both orders."""
    text = with_arguments(course, arguments)
    [result] = grade_class([submission(text)])
    exercise = next(one for one in result.exercises if one.name == EXERCISE)
    lost = [check for check in exercise.checks if check.outcome is not Outcome.PASSED]

    assert lost == [exercise.checks[0]]
    assert exercise.score >= exercise.max_score - lost[0].max_points >= 5
    assert sentence in lost[0].message
    assert lost[0].diagnosis is None


def test_a_mistake_next_to_another_order_keeps_its_share(grade_class: GradeClass, course: Course):
    """A slip costs the same as it does alone, and the order costs the points of its check."""
    right = course.stage(STAGE).solution.read_text("utf-8")
    swapped = with_arguments(course, OTHER_ORDERS[0].values[0])
    one, both = grade_class(
        submission(text.replace("masked / keys.shape[-1] ** 0.5", "masked"))
        for text in (right, swapped)
    )
    [exercise] = [found for found in both.exercises if found.name == EXERCISE]
    credited = [check.message for check in exercise.checks if check.outcome is Outcome.FAILED]

    assert one.score is not None
    assert both.score == pytest.approx(one.score - exercise.checks[0].max_points)
    assert any("apart from the order of the constructor's arguments" in one for one in credited)


def test_a_students_machine_shows_the_same(course: Course, tmp_path: Path):
    """Without a solution, the public suite fails in the same check with the same sentence."""
    folder = shutil.copytree(course.stage(STAGE).assignment, tmp_path / STAGE)
    text = with_arguments(course, OTHER_ORDERS[0].values[0])
    (folder / "causal_attention.py").write_text(text, "utf-8")
    printed = " ".join(run_here(folder, ["autograder", "check"]).output.split())

    assert SENTENCE in printed
    assert printed.count("✗") == 1


@pytest.mark.nightly  # the test of stage 07 proves it for one class, which is enough for the engine
def test_the_first_check_of_every_class_grades_the_order(course: Course):
    """In every stage, only the first check fails for a class with keyword-only arguments."""
    wrong: list[str] = []
    with open_suites(course, course.stages) as runner:
        for stage in course.stages:
            text = stage.solution.read_text("utf-8")
            for name in constructors_in(text, [one.name for one in stage.exercises]):
                channel = LocalChannel(f"{stage.module}_{name}", only_by_name(text, name).encode())
                checks = [one for one in runner.checks(stage.name) if one.spec.exercise == name]
                ends = [runner.run(one.item, channel).error is None for one in checks]
                wrong += [] if ends == [False] + [True] * (len(ends) - 1) else [f"{name} {ends}"]

    assert not wrong


def only_by_name(text: str, name: str) -> str:
    """Return *text* with keyword-only arguments in the constructor of class *name*."""
    tree = ast.parse(text)
    [found] = [one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == name]
    [init] = [one for one in found.body if getattr(one, "name", "") == "__init__"]
    given, init.args.args = init.args.args[1:], init.args.args[:1]
    defaults, init.args.defaults = init.args.defaults, []
    init.args.kwonlyargs = given
    init.args.kw_defaults = [None] * (len(given) - len(defaults)) + defaults
    return ast.unparse(tree)
