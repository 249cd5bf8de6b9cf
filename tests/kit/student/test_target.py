"""Which file a student wants to check, and the suites for it."""

import shutil
from pathlib import Path

import pytest

from autograder.authoring.release import build
from autograder.course import Course
from autograder.errors import UsageError
from autograder.student.target import find_target


@pytest.fixture
def built(tiny: Course) -> Course:
    """The tiny course with the folder that students receive."""
    build(tiny)
    return tiny


@pytest.fixture
def received(built: Course, tmp_path: Path) -> Path:
    """The folder of a stage, outside of the course."""
    return shutil.copytree(built.stages[0].assignment, tmp_path / "downloads" / "01_tiny")


def test_a_received_folder_is_enough(received: Path):
    """Without the course there is the public suite alone."""
    target = find_target("", received)

    assert (target.file, target.stage.name, target.course) == (
        received / "tiny.py",
        "01_tiny",
        None,
    )


def test_a_notebook_takes_the_place_of_a_module(received: Path):
    """It has the module's name."""
    (received / "tiny.py").rename(received / "tiny.ipynb")

    assert find_target("", received).file == received / "tiny.ipynb"


@pytest.mark.parametrize("name", ["1", "01_tiny"])
def test_a_stage_is_found_by_number_and_name(built: Course, name: str):
    """The student's file is the one in assignments."""
    assert find_target(name, built.root).file == built.stages[0].assignment / "tiny.py"


def test_the_hidden_suite_needs_the_course(built: Course, received: Path):
    """In the course both suites run; elsewhere the message says that it is not there."""
    assert find_target("1", built.root, hidden=True).course is not None
    with pytest.raises(UsageError, match="stays with your instructor"):
        find_target("", received, hidden=True)


def test_a_stage_that_is_not_built_says_so(tiny: Course):
    """Its author builds it first."""
    with pytest.raises(UsageError, match="run `autograder release` first"):
        find_target("1", tiny.root)
