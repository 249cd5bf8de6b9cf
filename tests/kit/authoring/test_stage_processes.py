"""Stages of a course, divided among processes."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from autograder.authoring import stage_processes
from autograder.authoring.stage_processes import in_processes
from autograder.course import Stage, load
from autograder.errors import CourseError

COURSE = load(Path(__file__).parents[3])


def name_them(stages: Sequence[Stage]) -> tuple[int, list[str]]:
    """Say in which process which stages are."""
    return os.getpid(), [stage.name for stage in stages]


def refuse(stages: Sequence[Stage]) -> None:
    """Raise for one of the stages."""
    if COURSE.stages[0] in stages:
        msg = f"{COURSE.stages[0].name} is wrong."
        raise CourseError(msg)


@pytest.mark.parametrize("count", [1, 3])
def test_each_stage_is_in_one_part(count: int, monkeypatch: pytest.MonkeyPatch):
    """There is a part for each core."""
    monkeypatch.setattr(stage_processes, "cores", lambda: count)
    parts = in_processes(name_them, COURSE.stages)

    assert len(parts) == count
    assert sorted(name for _, part in parts for name in part) == [
        stage.name for stage in COURSE.stages
    ]
    assert (os.getpid() in {pid for pid, _ in parts}) == (count == 1)


def test_an_error_in_a_process_is_raised():
    """With its own words."""
    with pytest.raises(CourseError, match=f"{COURSE.stages[0].name} is wrong"):
        in_processes(refuse, COURSE.stages)
