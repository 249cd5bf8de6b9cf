"""Tests ``nbgrader_config.py`` as nbgrader's commands read it."""

import sys
from collections.abc import Callable
from pathlib import Path

import nbgrader.apps.api
import nbgrader.apps.autogradeapp
import pytest
from nbgrader.converters import Autograde
from traitlets.config import Config

from autograder.course import Course
from autograder.errors import CourseError, UsageError
from autograder.gradebook.config import configure
from autograder.gradebook.converter import SandboxedAutograde
from tests.kit.commands import run
from tests.kit.factories import CELLS, STAGE, cell, notebook

MODULES = (nbgrader.apps.autogradeapp, nbgrader.apps.api)


def test_the_command_and_the_button_use_our_converter(
    course: Course, monkeypatch: pytest.MonkeyPatch
):
    """Both nbgrader's command and formgrader's button use the kit's converter."""
    for module in MODULES:
        monkeypatch.setattr(module, "Autograde", Autograde)
    configure(Config(), course.root / "nbgrader_config.py")

    assert [module.Autograde for module in MODULES] == [SandboxedAutograde, SandboxedAutograde]


def test_the_shared_folder_is_no_assignment(course: Course, monkeypatch: pytest.MonkeyPatch):
    """Formgrader lists the stages in ``source``, and not the modules that their labs share."""
    listed = nbgrader.apps.api.NbGraderAPI.get_source_assignments
    monkeypatch.setattr(nbgrader.apps.api.NbGraderAPI, "get_source_assignments", listed)
    for module in MODULES:
        monkeypatch.setattr(module, "Autograde", Autograde)
    (course.root / "source" / "course").mkdir(parents=True, exist_ok=True)
    (course.root / "source" / STAGE).mkdir(exist_ok=True)
    config = Config()
    configure(config, course.root / "nbgrader_config.py")
    config.CourseDirectory.root = str(course.root)

    found = nbgrader.apps.api.NbGraderAPI(config=config).get_source_assignments()

    assert found == {STAGE}


@pytest.mark.parametrize("module", MODULES)
def test_another_nbgrader_is_reported(course: Course, monkeypatch: pytest.MonkeyPatch, module):
    """An nbgrader without the name of the converter is reported."""
    monkeypatch.delattr(module, "Autograde")

    with pytest.raises(UsageError, match=rf"no longer has {module.__name__}\.Autograde"):
        configure(Config(), course.root / "nbgrader_config.py")


def test_a_missing_course_is_reported(tmp_path: Path):
    """A copy of nbgrader_config.py without the course is reported."""
    with pytest.raises(CourseError, match=r"course\.toml is missing"):
        configure(Config(), tmp_path / "nbgrader_config.py")


def break_course(course: Course, _patch: pytest.MonkeyPatch) -> None:
    """Damage course.toml."""
    (course.root / "course.toml").write_text("id = [", "utf-8")


def hide_kit(_course: Course, patch: pytest.MonkeyPatch) -> None:
    """Let nbgrader start from an environment without the course kit."""
    patch.setitem(sys.modules, "autograder.gradebook.config", None)


@pytest.mark.parametrize("damage", [break_course, hide_kit])
def test_a_failure_ends_the_command(
    course: Course, monkeypatch: pytest.MonkeyPatch, damage: Callable
):
    """An error in the configuration ends the command before nbgrader runs student code."""
    trace = course.root / "student-code-ran"
    folder = course.root / "submitted" / "ada" / STAGE
    folder.mkdir(parents=True)
    code = cell("code", f"open({str(trace)!r}, 'w')")
    (folder / "lab.ipynb").write_bytes(notebook(*CELLS, code))
    for module in MODULES:
        monkeypatch.setattr(module, "Autograde", Autograde)
    damage(course, monkeypatch)
    output = run(course.root, "nbgrader", "autograde", STAGE, code=1)

    assert "nbgrader_config.py can't be used: " in output
    assert not trace.exists()
