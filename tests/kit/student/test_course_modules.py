"""Tests importing the modules that a course shares among its labs."""

import sys
from pathlib import Path

import pytest

from autograder.errors import CourseError, UsageError
from autograder.student.course_modules import course_module, module_names
from autograder.student.lab import Lab


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    """The folder of a stage, next to which the course has two modules."""
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "texts.py").write_text("FIRST = 'a text'\n")
    (tmp_path / "course" / "tasks.py").write_text("from .texts import FIRST\n")
    return tmp_path / "01_words"


def test_a_lab_has_the_modules_of_its_course(stage: Path):
    """`lab.course.tasks` is a module, which may import another one of the course."""
    assert Lab(stage).course.tasks.FIRST == "a text"


def test_jupyter_completes_the_names_of_the_modules(stage: Path):
    """`dir` lists the modules, and there is no other attribute."""
    assert {"tasks", "texts"} <= {*dir(Lab(stage).course)}
    assert not hasattr(Lab(stage).course, "_repr_html_")


def test_the_modules_of_another_course_replace_them(stage: Path, tmp_path: Path):
    """A process that changes the course imports the modules of the new one."""
    course_module(stage, "tasks")
    (tmp_path / "other" / "course").mkdir(parents=True)
    (tmp_path / "other" / "course" / "texts.py").write_text("FIRST = 'another'\n")

    assert course_module(tmp_path / "other" / "02_trees", "texts").FIRST == "another"


def test_a_student_can_not_import_them_by_accident(stage: Path):
    """The folder is not on the path, so a student's own module may have the same name."""
    course_module(stage, "texts")

    assert "texts" not in sys.modules
    assert str(stage.parent / "course") not in sys.path


def test_a_lab_inside_a_course_finds_the_built_modules(tmp_path: Path):
    """A copy of a lab that nbgrader has made has no modules next to it."""
    (tmp_path / "course.toml").touch()
    (tmp_path / "assignments" / "course").mkdir(parents=True)
    (tmp_path / "assignments" / "course" / "texts.py").write_text("FIRST = 'built'\n")
    copy = tmp_path / "autograded" / "ada" / "01_words"

    assert course_module(copy, "texts").FIRST == "built"
    assert "texts" in module_names(copy)


def test_a_missing_module_is_reported_with_the_command_that_adds_it(tmp_path: Path):
    """The message has the path where the module belongs."""
    with pytest.raises(UsageError, match=r"course/texts\.py is missing.*autograder start"):
        course_module(tmp_path / "01_words", "texts")


def test_a_damaged_module_is_reported_with_its_error(stage: Path):
    """The message has the path, the error, and the command that restores the module."""
    (stage.parent / "course" / "texts.py").write_text("FIRST = \n")
    with pytest.raises(CourseError, match=r"texts\.py can't be imported: SyntaxError.*start"):
        course_module(stage, "texts")
