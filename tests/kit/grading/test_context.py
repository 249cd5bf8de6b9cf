"""Tests the values of the fixtures that checks use."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from autograder.course import Course
from autograder.errors import CourseError, UsageError
from autograder.grading.context import SuiteContext
from autograder.grading.standalone import StandaloneContext
from autograder.suite.checks import check

REFUSED = "Nothing is submitted for test_a"


def item_in(suite: Path) -> SimpleNamespace:
    """Return a pytest item of *suite* without a mark."""
    return SimpleNamespace(
        path=suite, name="test_a", nodeid="test_a", get_closest_marker=lambda _name: None
    )


@pytest.fixture
def item(tiny: Course) -> SimpleNamespace:
    """A check of the hidden suite of the tiny course."""
    return item_in(tiny.stages[0].hidden_suite)


def test_a_solution_is_imported_once_for_each_context(tiny: Course):
    """A context imports a solution once, and a second context imports it again."""
    context, stage = SuiteContext(tiny), tiny.stages[0]

    assert context.solution(stage) is context.solution(stage)
    assert context.solution(stage) is not SuiteContext(tiny).solution(stage)


def test_a_missing_solution_is_the_courses_fault(tiny: Course, item: SimpleNamespace):
    """A missing solution is a CourseError with the name of the file."""
    tiny.stages[0].solution.unlink()

    with pytest.raises(CourseError, match=r"tiny\.py is missing"):
        SuiteContext(tiny).reference(item)


def test_the_documented_tensors_are_read_once_for_each_context(tiny: Course, item):
    """A context reads the documented tensors once, and remembers those that its checks used."""
    context, other = SuiteContext(tiny), SuiteContext(tiny)
    _ = context.documented(item)["tiny.numbers"]

    assert context.documented(item) is context.documented(item)
    assert context.documented(item).used == {"tiny.numbers"}
    assert other.documented(item).used == set()


def test_without_a_channel_there_is_no_student(tiny: Course, item: SimpleNamespace):
    """Without a module, the fixture `student` is an error."""
    with pytest.raises(UsageError, match=REFUSED):
        SuiteContext(tiny).student(item)


def test_plain_pytest_finds_the_course_of_a_suite(tiny: Course, item: SimpleNamespace):
    """A context without a course loads it from the folder of the suite."""
    context = StandaloneContext()

    assert context.stage(item).name == "01_tiny"
    assert context.course == tiny


def test_the_public_suite_needs_no_course(tiny: Course, tmp_path: Path):
    """In a student's copy the stage is the folder, without a course."""
    folder = tmp_path / "handout"
    tiny.stages[0].source.rename(folder)
    context = StandaloneContext()

    assert context.stage(item_in(folder / "test_public.py")).source == folder
    assert context.course is None


def checks_in(suite: Path, *exercises: str, **constants: object) -> list[SimpleNamespace]:
    """Return a pytest item of *suite*, a module with *constants*, for a check of each exercise."""
    session = SimpleNamespace(items=[])
    for number, exercise in enumerate(exercises):
        item = item_in(suite)
        mark = check(exercise, points=1).mark
        item.nodeid, item.session, item.module = str(number), session, SimpleNamespace(**constants)
        item.get_closest_marker = lambda _name, mark=mark: mark
        session.items.append(item)
    return session.items
