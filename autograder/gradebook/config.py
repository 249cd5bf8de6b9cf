"""Configures nbgrader so that its commands and buttons grade this course."""

import functools
from pathlib import Path
from typing import Any

import nbgrader
from nbgrader.apps import api, autogradeapp, generateassignmentapp

from autograder.course import SHARED
from autograder.errors import UsageError
from autograder.gradebook.connection import set_options
from autograder.gradebook.converter import SandboxedAutograde
from autograder.gradebook.generation import BuiltAssignment

# The converters of nbgrader that the kit replaces: the modules that import each by its name, the
# kit's own converter, and the command to use if nbgrader has no such name.
_CONVERTERS = {
    "Autograde": (
        (autogradeapp, api),
        SandboxedAutograde,
        "`autograder grade submitted --stage … --gradebook`",
    ),
    "GenerateAssignment": (
        (generateassignmentapp, api),
        BuiltAssignment,
        "`autograder release`",
    ),
}


def configure(config: Any, file: str | Path) -> None:
    """Configure nbgrader for the course whose ``nbgrader_config.py`` is *file*.

    Raises ``CourseError`` and ``UsageError``. nbgrader would only log these errors and continue
    with its default settings, so ``nbgrader_config.py`` itself ends the command.
    """
    set_options(config, file)
    for name in _CONVERTERS:
        _install_converter(name)
    _list_stages_only()


def _install_converter(name: str) -> None:
    """Make nbgrader's commands and formgrader's buttons use the kit's converter for *name*.

    nbgrader 0.9.6 has no option, entry point or plugin for the class of a converter. Its commands
    and ``NbGraderAPI`` create an object of a class that their modules import by *name*, so this
    function replaces the name in both modules. Hooks are not enough, because nbgrader ignores their
    exceptions. ``exporter_class`` is not enough either: it takes effect only after nbgrader has
    dropped the submissions without a notebook, and removed the folder of an assignment.
    """
    modules, converter, command = _CONVERTERS[name]
    for module in modules:
        if not hasattr(module, name):
            msg = (
                f"nbgrader {nbgrader.__version__} no longer has {module.__name__}.{name}, which "
                f"the kit replaces. Use {command}, or nbgrader 0.9.6."
            )
            raise UsageError(msg)
        setattr(module, name, converter)


def _list_stages_only() -> None:
    """Leave the folder that all stages share out of formgrader's list of assignments.

    nbgrader takes each folder in ``source`` for an assignment, and has no option for this.
    """
    listed = api.NbGraderAPI.get_source_assignments

    @functools.wraps(listed)
    def stages(self: Any) -> set[str]:
        return set(listed(self)) - {SHARED}

    api.NbGraderAPI.get_source_assignments = stages
