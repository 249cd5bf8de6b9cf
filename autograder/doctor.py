"""Examines the machine's isolation, and whether it reproduces the documented values.

Without a course, it only examines whether checks run, which is what a student needs.
"""

import platform
from collections.abc import Iterator
from typing import NamedTuple

import torch

from autograder.course import Course, course_secret
from autograder.course_file import Limits
from autograder.errors import CourseError, GraderError
from autograder.grading.suite_runner import open_suites
from autograder.sandbox import namespaces
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.spawned_workers import own_workers
from autograder.suite import documented


class Finding(NamedTuple):
    """Describes one property of the machine, and whether it is good."""

    good: bool
    text: str


def examine(course: Course | None) -> Iterator[Finding]:
    """Yield the findings about the machine, and about the course if there is one."""
    found = detect_capabilities()
    machine = f"{found.platform} {found.architecture}"
    yield Finding(good=True, text=f"Python {platform.python_version()} on {machine}")
    yield Finding(good=True, text=f"torch {torch.__version__}")
    if course is None:
        yield _worker()
        return
    yield Finding(found.level == "full", f"isolation {found.level}: {found.reason}")
    if found.level == "full":
        yield Finding(good=True, text=_private_folder(course.limits))  # with or without files
        yield Finding(good=True, text=_traces())  # what a page quotes is frozen in either case
    yield _documented(course)
    yield _hidden_inputs(course)


def _worker() -> Finding:
    """Start a worker as `check` does, without the isolation that other people's code needs."""
    try:
        with own_workers(Limits()) as fork_server:
            fork_server.wait_ready()
            fork_server.start("doctor", notebook=False).end()
    except (GraderError, OSError) as error:
        return Finding(good=False, text=f"checks do not run here: {error}")
    return Finding(
        good=True, text="checks run here; there is no course here, and checks do not need one"
    )


def _private_folder(limits: Limits) -> str:
    if namespaces.has_private_folders():
        return f"submissions may write {limits.disk_mib} MiB and {limits.files} files, in memory"
    return (
        "submissions can't write files: this system does not let a process mount "
        "(user namespaces); only lines that save a file fail"
    )


def _traces() -> str:
    """Return a sentence on what one worker can leave behind for a later one to read."""
    numbers = "the machine's process numbers (no PID namespace)"
    if namespaces.has_process_numbers():
        numbers = "constant process numbers"
    times = "reading changes no access time"
    if namespaces.access_times() == "set before":
        times = "files are read once a day beforehand, so that reading changes no access time"
    return f"workers see {numbers}; {times}"


def _hidden_inputs(course: Course) -> Finding:
    public = "the same in every public copy: set a course secret before grading"
    try:
        inputs = "secret" if course_secret(course.root) else public
    except CourseError as error:
        return Finding(good=False, text=str(error))
    return Finding(good=True, text=f"hidden inputs are {inputs}")  # good in either case


def _documented(course: Course) -> Finding:
    with open_suites(course, course.stages) as runner:
        wrong = [line for stage in course.stages for line in runner.wrong_documented_values(stage)]
    proved = documented.proof(documented.read(course.documented).values())
    text = f"the documented tensors of {len(course.stages)} stages hold {proved}"
    if wrong:
        text = "\n  ".join(["documented tensors differ on this torch:", *wrong])
    return Finding(good=not wrong, text=text)
