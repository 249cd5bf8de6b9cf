"""nbgrader's options for a course."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from traitlets.config import Config
from traitlets.utils.importstring import import_item

from autograder import course as courses
from autograder.course import Course
from autograder.errors import CourseError
from autograder.gradebook.options import set_options
from tests.factories import ROOT


@pytest.fixture
def config(course: Course) -> Config:
    """The options of the tiny course."""
    config = Config()
    set_options(config, course.root / "nbgrader_config.py")
    return config


def test_the_course_is_the_one_beside_the_file(course: Course, config: Config):
    """It is, wherever the command was started."""
    assert config.CourseDirectory.root == str(course.root.resolve())
    assert config.CourseDirectory.course_id == course.id == "tiny"
    assert config.CourseDirectory.release_directory == "assignments"


def test_no_module_of_a_student_is_overwritten(config: Config):
    """By default, nbgrader would overwrite it with the stub in source/."""
    assert config.Autograde.exclude_overwriting == {"01_tiny": ["tiny.py"]}


def test_every_stage_of_our_course_is_configured():
    """The course of this repository has an entry for the stub of each stage."""
    config = Config()
    set_options(config, ROOT / "nbgrader_config.py")
    excluded = config.Autograde.exclude_overwriting

    assert list(excluded) == [stage.name for stage in courses.load(ROOT).stages]
    assert all((ROOT / "source" / name / stub).is_file() for name, [stub] in excluded.items())


def test_every_class_that_is_named_exists(config: Config):
    """A typing error would only show in the middle of a grading."""
    names = (
        *config.Autograde.sanitize_preprocessors,
        *config.Autograde.autograde_preprocessors,
        *config.GenerateFeedback.preprocessors,
        config.ExportApp.plugin_class,
        config.ZipCollectApp.collector_plugin,
    )

    assert all(isinstance(import_item(name), type) for name in names)


def test_no_step_runs_a_notebook(config: Config):
    """Neither list has nbgrader's Execute in it."""
    steps = [*config.Autograde.sanitize_preprocessors, *config.Autograde.autograde_preprocessors]

    assert not any("Execute" in step for step in steps)


def test_alembic_is_found_beside_this_python(course: Course, monkeypatch: pytest.MonkeyPatch):
    """The PATH of a scheduler or a Windows shortcut does not have the environment."""
    monkeypatch.setenv("PATH", os.pathsep.join(["/usr/bin", "/bin"]))
    set_options(Config(), course.root / "nbgrader_config.py")
    set_options(Config(), course.root / "nbgrader_config.py")

    assert shutil.which("alembic") == str(Path(sys.executable).parent / "alembic")
    assert os.environ["PATH"].count(str(Path(sys.executable).parent)) == 1


def test_a_missing_course_is_reported(tmp_path: Path):
    """The file was copied without the rest."""
    with pytest.raises(CourseError, match=r"course\.toml is missing"):
        set_options(Config(), tmp_path / "nbgrader_config.py")
