"""Tests in every stage that an exercise gains nothing by delegating to a wrong one."""

import ast
import textwrap
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import pytest

from autograder import course as courses
from autograder.authoring.price_table import replaced
from autograder.course import Course, Stage
from autograder.diagnosis import misconceptions
from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from autograder.grading.grade import grade_one
from autograder.grading.neighbours import Neighbours
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import Status
from autograder.sandbox.static_names import definitions, parse, reached_uses
from autograder.submission import Code, Submission

ROUNDING = 1e-9  # of sums of points
SAMPLE = ("04", "09")  # the usual slow tests take only these stages
# Dozens of modules are graded for each stage.
STAGES = [
    pytest.param(
        stage.name,
        marks=pytest.mark.slow if stage.name.startswith(SAMPLE) else pytest.mark.nightly,
    )
    for stage in courses.load(courses.find_root(Path(__file__))).stages
]
Graded = Callable[[str, str], float]  # the text of a module, and an exercise: its points


class Pair(NamedTuple):
    """An exercise and an earlier one; it *uses* this in the solution or in a variant."""

    earlier: str
    later: str
    uses: bool


@pytest.fixture(params=STAGES)
def stage(request: pytest.FixtureRequest, course: Course) -> Stage:
    """Each stage of the course."""
    return course.stage(request.param)


@pytest.fixture
def runner(course: Course, stage: Stage) -> Iterator[SuiteRunner]:
    """The hidden suite of the stage."""
    with open_suites(course, [stage], diagnose=False) as opened:
        yield opened


@pytest.fixture
def graded(stage: Stage, runner: SuiteRunner, fork_server) -> Graded:
    """Grade a module; return the points of one exercise."""

    def grade(text: str, exercise: str) -> float:
        code = Code(kind="module", cells=(text.encode(),), label=stage.solution.name)
        submission = Submission(student="", stage=stage.name, code=code)
        result = grade_one(runner, fork_server, submission)
        assert result.status is Status.GRADED, result.message
        assert Status.TIMEOUT not in {
            check.status for one in result.exercises for check in one.checks
        }
        return next(one.score for one in result.exercises if one.name == exercise)

    return grade


def pairs(stage: Stage, runner: SuiteRunner) -> Iterator[Pair]:
    """Yield the pairs of which one may use the other, or that take as many arguments."""
    neighbours = Neighbours(stage, runner.checks(stage.name))
    used = set[tuple[str, str]]()
    for path in (stage.solution, *stage.variants):
        known = definitions(parse((path.read_bytes(),)))
        for one in stage.exercises:
            used |= {(use.name, one.name) for use in reached_uses(known, one.name)}
    nodes = nodes_of(stage)
    for earlier, later in combinations([one.name for one in stage.exercises], 2):
        if type(nodes[earlier]) is not type(nodes[later]):
            continue
        more = counts(nodes[later]) - counts(nodes[earlier])
        if earlier in neighbours.of(later) or more in (0, 1):
            yield Pair(earlier, later, (earlier, later) in used)


def nodes_of(stage: Stage) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Return the definitions of the solution by name."""
    tree = ast.parse(stage.solution.read_text("utf-8"))
    return {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def counts(node: ast.FunctionDef | ast.ClassDef) -> int:
    """Count the arguments of a function, or of all methods of a class."""
    methods = [one for one in ast.walk(node) if isinstance(one, ast.FunctionDef)]
    return sum(len(one.args.args) + len(one.args.kwonlyargs) for one in methods)


def wrong(stage: Stage, name: str) -> str:
    """Return the code of the exercise *name* with its first misconception, or one that raises."""
    solution = stage.solution.read_text("utf-8")
    for one in misconceptions.read(stage.misconceptions):
        if one.exercise == name:
            return code_of(stage, name, one.module(solution))
    is_class = isinstance(nodes_of(stage)[name], ast.ClassDef)
    body = "    def __init__(self, *_args, **_options): 1 / 0\n" if is_class else "    1 / 0\n"
    return f"class {name}:\n{body}" if is_class else f"def {name}(*_args, **_options):\n{body}"


def code_of(stage: Stage, name: str, text: str) -> str:
    """Return the code of the exercise *name*, and of its helpers, in the module *text*."""
    return ExerciseCode(text, name, [one.name for one in stage.exercises]).text([])


def calling(stage: Stage, later: str, earlier: str) -> str:
    """Return a definition of *later* that only calls *earlier*."""
    nodes = nodes_of(stage)
    if isinstance(nodes[later], ast.ClassDef):
        return f"def {later}(*args, **options):\n    return {earlier}(*args, **options)\n"
    signature = nodes[later].args
    passed = [one.arg for one in (*signature.args, *signature.kwonlyargs)]
    passed = passed[: counts(nodes[earlier])]
    head = f"def {later}({ast.unparse(signature)}):"
    return f"{head}\n    return {earlier}({', '.join(passed)})\n"


def delegating(stage: Stage, pair: Pair) -> Iterator[str]:
    """Yield definitions of the later exercise that call the earlier one, or inherit from it."""
    yield calling(stage, pair.later, pair.earlier)
    if isinstance(nodes_of(stage)[pair.later], ast.ClassDef):
        yield f"class {pair.later}({pair.earlier}):\n    pass\n"


def twin(name: str, definition: str, code: str) -> str:
    """Return *definition* of the exercise *name* with *code* inside it."""
    text = textwrap.indent(f"{code}\n{definition}return {name}\n", "    ")
    return f"def _twin():\n{text}\n{name} = _twin()\n"


def test_delegating_to_a_wrong_exercise_gains_nothing(stage, runner, graded):
    """It earns as much as the same wrong code in both, or as a call of the right exercise.

    The latter counts where the solution or a variant uses the earlier exercise.
    """
    solution = stage.solution.read_text("utf-8")
    gains = {}
    for pair in pairs(stage, runner):
        code = wrong(stage, pair.earlier)
        below = replaced(solution, pair.earlier, code)
        for text in delegating(stage, pair):
            same = f"{below}\n\n{twin(pair.later, text, code)}"
            most = graded(f"{solution}\n\n{text}" if pair.uses else same, pair.later)
            earned = graded(f"{below}\n\n{text}", pair.later)
            if earned > most + ROUNDING:
                gains[pair] = (earned, most)

    assert not gains


def test_exercises_that_call_each_other_end_and_gain_nothing(stage, runner, graded):
    """Each call ends; the later one earns at most as much as by a call of the right exercise."""
    solution = stage.solution.read_text("utf-8")
    gains = {}
    for pair in pairs(stage, runner):
        text = f"{solution}\n\n{calling(stage, pair.later, pair.earlier)}"
        most = graded(text, pair.later) if pair.uses else 0.0
        earned = graded(f"{text}\n\n{calling(stage, pair.earlier, pair.later)}", pair.later)
        if earned > most + ROUNDING:
            gains[pair] = (earned, most)

    assert not gains
