"""Configures nbgrader, so that its commands and buttons grade this course."""

from pathlib import Path
from typing import Any

import nbgrader
from nbgrader.apps import api, autogradeapp

from autograder.errors import UsageError
from autograder.gradebook.connection import set_options
from autograder.gradebook.converter import SandboxedAutograde


def configure(config: Any, file: str | Path) -> None:
    """Set up nbgrader for the course next to *file*, which is its ``nbgrader_config.py``.

    Raises ``CourseError`` and ``UsageError``. nbgrader itself would only log them and go on with
    its own settings, so ``nbgrader_config.py`` ends the command.
    """
    set_options(config, file)
    _install_converter()


def _install_converter() -> None:
    """Let ``nbgrader autograde`` and formgrader's button use our converter.

    nbgrader 0.9.6 offers no option, entry point or plugin for the class of its converter:
    ``AutogradeApp.start`` and ``NbGraderAPI.autograde`` make an ``Autograde``, a name that both
    modules import. Its hooks swallow exceptions, and ``exporter_class`` takes effect after the
    submissions without a notebook were dropped. So this one name is replaced in both modules.
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
