"""Mistakes in students' idioms lose points, and right programs in unusual idioms lose none."""

from collections import Counter
from pathlib import Path

import pytest

from autograder import course as courses
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import open_suites
from autograder.results import ExerciseResult
from autograder.sandbox.supervisor import ForkServer
from tests.e2e.fresh_mistakes import Program, kinds, programs, submit

COURSE = courses.load(Path(__file__).parents[2])
PROGRAMS = programs()
WRONG = [one for one in PROGRAMS if one.mistakes]
RIGHT = [one for one in PROGRAMS if not one.mistakes]
PER_STAGE = {0: 3, 1: 10, 2: 6}  # programs by their number of mistakes, at least

Graded = dict[str, list[ExerciseResult]]


@pytest.fixture(scope="module")
def graded(fork_server: ForkServer) -> Graded:
    """Grade the exercises with mistakes, and all of a right program, without a diagnosis."""
    found: Graded = {one.id: [] for one in PROGRAMS}
    with open_suites(COURSE, COURSE.stages, diagnose=False) as runner:
        for one in PROGRAMS:
            submission = submit(COURSE, one)
            for exercise in {mistake.exercise for mistake in one.mistakes} or {""}:
                result = grade_one(runner, fork_server, submission, exercise=exercise)
                found[one.id] += result.exercises
    return found


@pytest.mark.parametrize("program", WRONG, ids=lambda one: f"{one.stage}-{one.id}")
def test_a_mistake_loses_points(program: Program, graded: Graded):
    """Every exercise with a mistake loses points."""
    lost = {one.name for one in graded[program.id] if one.score < one.max_score}

    assert lost == {mistake.exercise for mistake in program.mistakes}


@pytest.mark.parametrize("program", RIGHT, ids=lambda one: f"{one.stage}-{one.id}")
def test_a_right_program_earns_everything(program: Program, graded: Graded):
    """A right program earns all points of every exercise, whatever its idiom."""
    exercises = graded[program.id]

    assert len(exercises) == len(COURSE.stage(program.stage).exercises)
    assert [one.name for one in exercises if one.score < one.max_score] == []


@pytest.mark.parametrize("stage", [stage.name for stage in COURSE.stages])
def test_every_stage_has_programs(stage: str):
    """Each stage has right programs, and programs with one mistake and with two."""
    counts = Counter(len(one.mistakes) for one in PROGRAMS if one.stage == stage)

    assert all(counts[mistakes] >= least for mistakes, least in PER_STAGE.items())


def test_every_program_has_its_own_id():
    """Ids are unique, also between stages."""
    assert len({one.id for one in PROGRAMS}) == len(PROGRAMS)


def test_kinds_are_a_closed_list():
    """Each mistake has kinds of the list, and each kind of the list has a mistake."""
    used = {kind for one in PROGRAMS for mistake in one.mistakes for kind in mistake.kinds}

    assert used == set(kinds())
