"""Configures nbgrader so that its commands and buttons grade this course."""

from pathlib import Path
from typing import Any

import nbgrader
from nbgrader.apps import api, autogradeapp

from autograder.errors import UsageError
from autograder.gradebook.connection import set_options
from autograder.gradebook.converter import SandboxedAutograde


def configure(config: Any, file: str | Path) -> None:
    """Configure nbgrader for the course whose ``nbgrader_config.py`` is *file*.

    Raises ``CourseError`` and ``UsageError``. nbgrader would only log these errors and continue
    with its default settings, so ``nbgrader_config.py`` itself ends the command.
    """
    set_options(config, file)
    _install_converter()


def _install_converter() -> None:
    """Make ``nbgrader autograde`` and formgrader's button use ``SandboxedAutograde``.

    nbgrader 0.9.6 has no option, entry point or plugin for the class of its converter.
    ``AutogradeApp.start`` and ``NbGraderAPI.autograde`` create an ``Autograde``, a name that both
    modules import, so this function replaces the name in both modules. Hooks are not enough,
    because nbgrader ignores their exceptions. ``exporter_class`` is not enough either, because it
    takes effect only after nbgrader has dropped the submissions without a notebook.
    """
    for module in (autogradeapp, api):
        if not hasattr(module, "Autograde"):
            msg = (
                f"nbgrader {nbgrader.__version__} no longer has {module.__name__}.Autograde, so "
                "it can't grade in the sandbox. Use `autograder grade submitted "
                "--stage … --gradebook`, or nbgrader 0.9.6."
            )
            raise UsageError(msg)
        module.Autograde = SandboxedAutograde
