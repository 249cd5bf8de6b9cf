"""Provides the tiny course with a lab, a gradebook and submissions."""

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from autograder import course as courses
from autograder.authoring import lab_notebook
from autograder.authoring.lab_notebook import Notebook
from autograder.course import Course
from autograder.gradebook.writer import Writer
from autograder.grading.run import Written
from autograder.results import (
    SubmissionResult,
)
from autograder.submission import Code, Submission
from tests.kit.commands import forget_suites
from tests.kit.factories import (
    POINTS,
    SOLUTION,
    STAGE,
    Made,
    StudentWork,
    WriteBook,
    WriteLab,
    ask_alembic_once,
    authored,
    exercise,
    file_of,
    named,
    record,
    write_template,
)


@pytest.fixture(scope="session", autouse=True)
def no_jupyter_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep this machine's Jupyter settings out of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CONFIG", "DATA"):
            patch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path_factory.mktemp(name.lower())))
        yield


@pytest.fixture(scope="session", autouse=True)
def alembic_is_asked_once() -> Iterator[None]:
    """Ask alembic for its version only once, because each call takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        ask_alembic_once(patch)
        yield


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course whose gradebook has the lab and no students, for copying."""
    return write_template(tmp_path_factory.mktemp("template") / "course")


@pytest.fixture
def course(template: Path, tmp_path: Path) -> Iterator[Course]:
    """A copy of the course, with its gradebook."""
    with forget_suites():
        yield courses.load(shutil.copytree(template, tmp_path / "course"))


@pytest.fixture
def write_lab(course: Course) -> WriteLab:
    """Build the lab of the course again, from different cells or with different points."""
    return partial(authored, course.stage(STAGE))


@pytest.fixture(scope="session")
def master(template: Path) -> Notebook:
    """The instructor's lab; tests must not change it."""
    return lab_notebook.instructor_notebook(courses.load(template).stage(STAGE).lab.read_bytes())


@pytest.fixture(scope="session")
def released(template: Path) -> dict[str, Any]:
    """The lab as students receive it."""
    return json.loads(
        lab_notebook.build_student_lab(courses.load(template).stage(STAGE).lab.read_bytes())
    )


@pytest.fixture
def answered(released: dict[str, Any]) -> Callable[..., bytes]:
    """Write answers into the released lab, by the cells' names."""

    def answer(**answers: str) -> bytes:
        cells = [{**item, "source": answers.get(named(item), item["source"])} for item in
                 released["cells"]]  # fmt: skip
        return json.dumps({**released, "cells": cells}).encode()

    return answer


@pytest.fixture
def work() -> StudentWork:
    """Submit a module, a lab and a timestamp, each as bytes or not at all."""

    def make(
        student: str = "ada",
        *,
        module: bytes | None = SOLUTION.encode(),
        lab: bytes | None = None,
        stamp: bytes | None = None,
        **fields: object,
    ) -> Submission:
        code = module and Code(kind="module", cells=(module,), label="tiny.py")
        facts = {"stage": STAGE, "lab": file_of("lab.ipynb", lab), "stamp": file_of("t.txt", stamp)}
        return Submission(student=student, code=code or None, **(facts | fields))

    return make


@pytest.fixture
def graded() -> Made:
    """Make a result: points by exercise, out of five each."""

    def make(student: str = "ada", most: float = 5.0, **points: float) -> SubmissionResult:
        earned = dict.fromkeys(POINTS, most) | points
        return record(student, tuple(exercise(*item, most) for item in earned.items()))

    return make


@pytest.fixture
def write(course: Course, work: StudentWork) -> WriteBook:
    """Write results into the gradebook; by default each submission is the solution."""

    def write_all(*results: SubmissionResult, **given: Submission) -> Written:
        submissions = [given.get(item.student) or work(item.student) for item in results]
        return Writer(course, submissions).write(submissions, results)

    return write_all
