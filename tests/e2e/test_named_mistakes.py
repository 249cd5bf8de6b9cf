"""Mistakes are named that nobody wrote down, and right programs are not accused."""

from pathlib import Path

import pytest

from autograder import course as courses
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import open_suites
from autograder.results import CheckResult
from autograder.sandbox.isolation import choose_isolation
from autograder.sandbox.supervisor import ForkServer
from tests.e2e.fresh_mistakes import Program, programs, submit

COURSE = courses.load(Path(__file__).parents[2])
PROGRAMS = {one.id: one for one in programs()}
SINGLES = (
    "context_is_a_mean",
    "weights_divided_by_column_sums",
    "values_drawn_first",
    "v1_weights_detached",
    "keys_viewed_as_columns",
    "head_scaled_by_embedding",
    "infinity_hides_the_diagonal",
    "padding_mask_keeps_one_more",
    "first_head_for_all",
    "split_by_view_alone",
)
DOUBLES = (
    "simple_per_column_and_scaled",
    "softmax_mean_shifted_and_twice",
    "multiplied_and_per_column",
    "transfer_swaps_and_accepts_bias",
    "biased_and_keys_mixed",
    "pattern_shifted_over_queries",
    "infinity_power_and_late_mask",
    "wrapper_unbiased_and_added",
)
RIGHT = [one.id for one in PROGRAMS.values() if not one.mistakes]

Graded = dict[str, list[CheckResult]]


@pytest.fixture(scope="module")
def graded() -> Graded:
    """Grade the programs as if no misconception had been written."""
    found: Graded = {}
    level = choose_isolation(None, COURSE.root)
    with (
        pytest.MonkeyPatch.context() as patch,
        ForkServer(level, COURSE.limits) as fork_server,
        open_suites(COURSE, COURSE.stages) as runner,
    ):
        patch.setattr("autograder.diagnosis.misconceptions.read", lambda _path: ())
        fork_server.wait_ready()
        for name in (*SINGLES, *DOUBLES, *RIGHT):
            program = PROGRAMS[name]
            exercises = {mistake.exercise for mistake in program.mistakes} or {""}
            results = [
                grade_one(runner, fork_server, submit(COURSE, program), exercise=exercise)
                for exercise in exercises
            ]
            found[name] = [
                check for result in results for one in result.exercises for check in one.checks
            ]
    return found


def kinds(checks: list[CheckResult]) -> set[str]:
    """Return the kinds of mistake that are named."""
    return {name for check in checks if check.diagnosis for name in check.diagnosis.misconceptions}


@pytest.mark.parametrize("name", [*SINGLES, *DOUBLES])
def test_each_mistake_is_named_by_its_kind(name: str, graded: Graded):
    """A teacher wrote down the kinds before the diagnosis was built."""
    program: Program = PROGRAMS[name]
    named = kinds(graded[name])

    assert [mistake for mistake in program.mistakes if not named & set(mistake.kinds)] == []


@pytest.mark.parametrize("name", RIGHT)
def test_no_right_program_is_accused(name: str, graded: Graded):
    """What is right has no diagnosis, whatever its idiom."""
    assert graded[name]
    assert kinds(graded[name]) == set()
