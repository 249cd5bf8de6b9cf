"""Mistakes in students' idioms lose points, and right programs in unusual idioms lose none."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder import course as courses
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import ExerciseResult
from autograder.sandbox.supervisor import ForkServer
from autograder.suite.in_process import LocalChannel
from tests.e2e.fresh_mistakes import Program, kinds, programs, submit

COURSE = courses.load(Path(__file__).parents[2])
PROGRAMS = programs()
WRONG = [one for one in PROGRAMS if one.mistakes]
RIGHT = [one for one in PROGRAMS if not one.mistakes]
PER_STAGE = {0: 3, 1: 10, 2: 6}  # programs by their number of mistakes, at least

Grade = Callable[..., tuple[ExerciseResult, ...]]


@pytest.fixture(scope="module")
def runner() -> Iterator[SuiteRunner]:
    """The suites of the course, without a diagnosis."""
    with open_suites(COURSE, COURSE.stages, diagnose=False) as opened:
        yield opened


@pytest.fixture
def grade(runner: SuiteRunner, fork_server: ForkServer) -> Grade:
    """Grades a program in the sandbox, or one exercise of it."""

    def grade_program(program: Program, exercise: str = "") -> tuple[ExerciseResult, ...]:
        submission = submit(COURSE, program)
        return grade_one(runner, fork_server, submission, exercise=exercise).exercises

    return grade_program


@pytest.mark.parametrize("program", WRONG, ids=lambda one: f"{one.stage}-{one.id}")
def test_a_mistake_fails_a_check(program: Program, runner: SuiteRunner):
    """Every exercise with a mistake fails a check, in this process and up to the first one."""
    code = submit(COURSE, program).code
    channel = LocalChannel(program.id, code.cells[0])
    checks = [check for check in runner.checks(program.stage) if check.spec.points]
    failed = {
        mistake.exercise
        for mistake in program.mistakes
        if any(
            runner.run(check.item, channel).error is not None
            for check in checks
            if check.spec.exercise == mistake.exercise
        )
    }

    assert failed == {mistake.exercise for mistake in program.mistakes}


@pytest.mark.nightly  # that a failed check costs its points in the sandbox, many files here assert
@pytest.mark.parametrize("program", WRONG, ids=lambda one: f"{one.stage}-{one.id}")
def test_a_mistake_loses_points(program: Program, grade: Grade):
    """Every exercise with a mistake loses points."""
    exercises = {mistake.exercise for mistake in program.mistakes}
    graded = [one for exercise in exercises for one in grade(program, exercise)]

    assert {one.name for one in graded if one.score < one.max_score} == exercises


@pytest.mark.parametrize("program", RIGHT, ids=lambda one: f"{one.stage}-{one.id}")
def test_a_right_program_earns_everything(program: Program, grade: Grade):
    """A right program earns all points of every exercise, whatever its idiom."""
    exercises = grade(program)

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
