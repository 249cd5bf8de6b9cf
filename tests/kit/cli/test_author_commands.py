"""Commands that write the files of a course."""

from collections.abc import Callable
from typing import Any

from autograder.course import Course
from tests.factories import WriteCourse

Invoke = Callable[..., Any]  # a Result, which typer has from click or from itself


def test_release_lists_what_is_stale_and_builds_it(invoke: Invoke, tiny: Course):
    """`release --check` is exit code 1 before, 0 after `release`."""
    before = invoke("release", "--check")
    built = invoke("release")
    after = invoke("release", "--check")

    assert (before.exit_code, built.exit_code, after.exit_code) == (1, 0, 0)
    assert "tiny.py is stale" in before.output
    assert "built source/01_tiny/tiny.py" in built.output
    assert "raise NotImplementedError" in tiny.stages[0].stub.read_text()


def test_release_builds_one_stage_if_asked(invoke: Invoke, write_course: WriteCourse):
    """`release --stage` builds the files of that stage, and the others stay stale."""
    course = write_course(stages=("01_tiny", "02_more"))

    built = invoke("release", "--stage", "02")
    checks = [invoke("release", "--check", "--stage", name).exit_code for name in ("02", "01")]

    assert built.exit_code == 0
    assert checks == [0, 1]
    assert [stage.stub.exists() for stage in course.stages] == [False, True]
