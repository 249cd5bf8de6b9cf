"""What this machine can do, and whether the course's numbers hold on it."""

import platform
from collections.abc import Iterator
from typing import NamedTuple

import torch

from autograder.course import Course
from autograder.sandbox.confine import probe
from autograder.suite.judging import Judge, with_judge
from autograder.suite.probe import course_secret


class Finding(NamedTuple):
    """One thing examined."""

    good: bool
    text: str


def examine(course: Course) -> Iterator[Finding]:
    """Examine machine and course, one finding after the other."""
    found = probe()
    yield Finding(
        True, f"Python {platform.python_version()} on {found.platform} {found.architecture}"
    )  # noqa: FBT003  # a finding is good or not
    yield Finding(True, f"torch {torch.__version__}")  # noqa: FBT003  # a finding is good or not
    yield Finding(found.level == "full", f"isolation {found.level}: {found.reason}")
    yield _documented(course)
    secret = bool(course_secret(course.root))
    words = "secret" if secret else "those of every public copy: set a course secret before grading"
    yield Finding(True, f"hidden inputs are {words}")  # noqa: FBT003  # allowed, and said


def _documented(course: Course) -> Finding:
    untrue = with_judge(course, course.stages, lambda judge: _untrue(course, judge))
    if untrue:
        return Finding(False, "documented tensors differ on this torch:\n  " + "\n  ".join(untrue))  # noqa: FBT003  # a finding is good or not
    return Finding(
        True, f"the documented tensors of {len(course.stages)} stages hold on this torch"
    )  # noqa: FBT003  # a finding is good or not


def _untrue(course: Course, judge: Judge) -> list[str]:
    return [line for stage in course.stages for line in judge.untrue(stage)]
