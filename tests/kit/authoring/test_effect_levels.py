"""Making the numbers that say what right results depend on, and comparing two files of them."""

from itertools import pairwise

import pytest
import torch
from msgspec.structs import replace

from autograder import course as courses
from autograder.authoring.effect_levels import EffectsMaker, contradictions
from autograder.course import Course, Stage
from autograder.diagnosis import fingerprints
from autograder.diagnosis.known_effects import AskedChannel, KnownEffects
from autograder.diagnosis.observation import Observation
from autograder.grading.suite_runner import open_suites
from autograder.suite.in_process import LocalChannel, solution_channel
from autograder.suite.student_proxy import Student

SOLUTION = """
import torch

def earlier(x):
    return x.cumsum(-2)

def drawn(x):
    return x + torch.rand(())
"""


def made(*names: str) -> KnownEffects:
    """Return what is kept of these functions, each called with three rows."""
    solution = LocalChannel("effects", SOLUTION.encode())
    maker = EffectsMaker(solution)
    for name in names:
        asked = AskedChannel(solution)
        student = Student(asked)
        student.call(name, torch.rand(3, 2))
        maker.add(name, asked.requests, Observation(student.observed, None))
    return maker.made()


def test_the_rows_that_a_row_changes_are_kept():
    """A digit for each row of the result: 0 for no difference, 3 for one that shows."""
    (result,) = made("earlier").results.values()

    assert result.shape == (3, 2)
    assert result.levels["row 0 0 1"] == "3 033 003"
    assert result.levels["times 2 0 2"] == "0"


def test_a_function_that_draws_is_left_out():
    """What it depends on can't be seen."""
    assert made("drawn").results == {}


@pytest.mark.parametrize(
    ("row", "contradicts"),
    [
        pytest.param("3 033 003", False, id="the-same"),
        pytest.param("3 133 003", False, id="rounding-on-another-machine"),
        pytest.param("3 333 003", True, id="another-dependence"),
        pytest.param("3 033", True, id="fewer-rows"),
        pytest.param("3 033 -", True, id="unusable"),
    ],
)
def test_two_files_contradict_beyond_rounding(row: str, contradicts: bool):  # noqa: FBT001  # a case
    """Levels of rounding may differ between machines, none and visible may not."""
    known = made("earlier")
    ((key, result),) = known.results.items()
    other = replace(
        known, results={key: replace(result, levels={**result.levels, "row 0 0 1": row})}
    )

    assert bool([*contradictions(known, other)]) is contradicts


def test_other_numbers_and_names_contradict():
    """A result that moved by more than rounding is stale."""
    known = made("earlier")
    ((key, result),) = known.results.items()
    moved = replace(result, unit=1.01 * result.unit)

    assert [*contradictions(known, replace(known, results={key: moved}))] == [f"the call {key}"]
    assert [*contradictions(known, replace(known, arguments={}))]


def neighbours(answers: list[object]) -> set[tuple[float, float]]:
    """Return every two numbers that follow each other in the tensors of *answers*."""
    found: set[tuple[float, float]] = set()
    for answer in answers:
        tensors = answer.values() if isinstance(answer, dict) else [answer]
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                rounded = [round(number, 4) for number in tensor.detach().flatten().tolist()]
                found |= {pair for pair in pairwise(rounded) if not set(pair) <= {0, 1, -1}}
    return found


def solved(course: Course, stages: list[Stage], *, public: bool) -> set[tuple[float, float]]:
    """Return the neighbours in all answers of the solutions to the checks of a suite."""
    found: set[tuple[float, float]] = set()
    with open_suites(course, stages, public=public, diagnose=False) as runner:
        for stage in stages:
            solution = solution_channel(stage.solution)
            for check in runner.checks(stage.name):
                answers = runner.run(check.item, solution).answers
                found |= neighbours([answer for _, answer in answers])
    return found


def test_no_value_of_a_hidden_input_is_published(pytestconfig: pytest.Config):
    """What the solution gives for inputs that a course draws in secret is in no fingerprint."""
    course = courses.load(pytestconfig.rootpath)
    stages = [course.stage(number) for number in ("04", "08")]
    hidden = solved(course, stages, public=False) - solved(course, stages, public=True)
    published: set[tuple[float, float]] = set()
    for stage in stages:
        known = fingerprints.from_json(stage.fingerprints.read_bytes())
        results = known.effects.results.values()
        published |= neighbours([one.unit * torch.tensor(one.numbers) for one in results])
        published |= neighbours([torch.tensor(one) for one in number_lists(known.answers)])

    assert len(hidden) > 100
    assert hidden & published == set()


def number_lists(value: object) -> list[list[float]]:
    """Return every list of numbers in decoded JSON."""
    if isinstance(value, dict):
        return number_lists(list(value.values()))
    if isinstance(value, list | tuple):
        if value and all(isinstance(item, int | float) for item in value):
            return [list(map(float, value))]
        return [found for item in value for found in number_lists(item)]
    return []
