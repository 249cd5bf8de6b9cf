"""What ``nbgrader_config.py`` sets, so that nbgrader's commands and buttons grade this course.

Everything is derived from ``course.toml`` when nbgrader starts, so nothing here can grow stale.
"""

import os
import sys
from pathlib import Path
from typing import Any

from autograder.course import load

_SANITIZE = ["autograder.gradebook.preprocessors.Sanitize"]
_AUTOGRADE = [
    "autograder.gradebook.preprocessors.GradeInSandbox",
    "autograder.gradebook.preprocessors.SaveScores",
    "nbgrader.preprocessors.CheckCellMetadata",
]
_FEEDBACK = [
    "nbgrader.preprocessors.GetGrades",
    "nbgrader.preprocessors.ClearMarkScheme",  # who hands in late must not read it in a friend's
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]


def configure(config: Any, file: str | Path) -> None:
    """Set up nbgrader for the course beside *file*, which is its ``nbgrader_config.py``."""
    root = Path(file).resolve().parent
    course = load(root)
    _find_our_tools()
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.course_id = course.id
    config.CourseDirectory.release_directory = "assignments"
    config.ClearMarkScheme.enforce_metadata = False  # a scheme stands in the locked question
    config.Autograde.exclude_overwriting = {
        stage.name: [stage.stub.name] for stage in course.stages
    }
    config.Autograde.sanitize_preprocessors = _SANITIZE
    config.Autograde.autograde_preprocessors = _AUTOGRADE
    config.GenerateFeedback.preprocessors = _FEEDBACK
    config.ExportApp.plugin_class = "autograder.gradebook.csv_plugin.CsvExport"
    config.ZipCollectApp.collector_plugin = "autograder.gradebook.zip_collector.Collector"
    _install_converter()


def _find_our_tools() -> None:
    """Put this Python's tools on PATH: nbgrader starts ``alembic`` by its bare name."""
    tools = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", "")
    if tools not in path.split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join((tools, *filter(None, [path])))


def _install_converter() -> None:
    """Let ``nbgrader autograde`` and formgrader's button use our converter.

    No option names its class. Both places look the name up when they start, so it is set there.
    """
    for name in ("nbgrader.apps.autogradeapp", "nbgrader.apps.api"):
        module = sys.modules.get(name)
        if module is not None:  # else this is another command, which grades nothing
            from autograder.gradebook.converter import Autograde  # noqa: PLC0415  # nbgrader is there

            module.Autograde = Autograde  # type: ignore[attr-defined]  # nbgrader's own name
