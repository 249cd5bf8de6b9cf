"""Examines the machine: its isolation, and whether documented values hold on it."""

import platform
from collections.abc import Iterator
from typing import NamedTuple

import torch

from autograder.course import Course
from autograder.grading.suite_runner import open_suites
from autograder.sandbox.isolation import detect_capabilities
from autograder.suite.hidden_inputs import course_secret


class Finding(NamedTuple):
    """What was examined, and whether it is good."""

    good: bool
    text: str


def examine(course: Course) -> Iterator[Finding]:
    """Examine machine and course; yield one finding after the other."""
    found = detect_capabilities()
    machine = f"{found.platform} {found.architecture}"
    yield Finding(good=True, text=f"Python {platform.python_version()} on {machine}")
    yield Finding(good=True, text=f"torch {torch.__version__}")
    yield Finding(found.level == "full", f"isolation {found.level}: {found.reason}")
    yield _documented(course)
    public = "the same in every public copy: set a course secret before grading"
    inputs = "secret" if course_secret(course.root) else public
    yield Finding(good=True, text=f"hidden inputs are {inputs}")  # both are allowed


def _documented(course: Course) -> Finding:
    with open_suites(course, course.stages) as runner:
        wrong = [line for stage in course.stages for line in runner.wrong_documented_values(stage)]
    text = f"the documented tensors of {len(course.stages)} stages hold on this torch"
    if wrong:
        text = "\n  ".join(["documented tensors differ on this torch:", *wrong])
    return Finding(good=not wrong, text=text)
