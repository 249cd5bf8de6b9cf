"""nbgrader's options for a course, derived from ``course.toml`` whenever nbgrader starts."""

import os
import sys
from pathlib import Path
from typing import Any

from autograder.course import load

_AUTOGRADE = ["autograder.gradebook.converter.RefuseUnprotected"]  # our converter runs no steps
_FEEDBACK = [
    "nbgrader.preprocessors.GetGrades",
    "nbgrader.preprocessors.ClearMarkScheme",  # a late student must not read it in a friend's copy
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]


def set_options(config: Any, file: str | Path) -> None:
    """Set nbgrader's options for the course beside *file*, which is its ``nbgrader_config.py``."""
    root = Path(file).resolve().parent
    course = load(root)
    _put_tools_on_path()
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.course_id = course.id
    config.CourseDirectory.release_directory = "assignments"
    config.ClearMarkScheme.enforce_metadata = False  # a mark scheme is in the locked question
    config.Autograde.exclude_overwriting = {
        stage.name: [stage.stub.name] for stage in course.stages
    }
    config.Autograde.sanitize_preprocessors = _AUTOGRADE
    config.Autograde.autograde_preprocessors = _AUTOGRADE
    config.GenerateFeedback.preprocessors = _FEEDBACK
    config.ExportApp.plugin_class = "autograder.gradebook.grade_export.CsvExport"
    config.ZipCollectApp.collector_plugin = "autograder.gradebook.zip_collector.ZipCollector"


def _put_tools_on_path() -> None:
    """Put this Python's tools on PATH: nbgrader starts ``alembic`` by its bare name."""
    tools = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", "")
    if tools not in path.split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join((tools, *filter(None, [path])))
