"""Runs the command line in the tiny course."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from autograder.cli import app
from autograder.course import Course
from autograder.results import Results, Status, SubmissionResult
from autograder.submission import Submission

Invoke = Callable[..., Any]  # a Result, which typer has from click or from itself
GiveResults = Callable[..., None]
Recorded = Callable[..., Path]
RunWithoutExtras = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, tiny: Course) -> Invoke:
    """Run the command line within the tiny course."""
    monkeypatch.chdir(tiny.root)
    monkeypatch.delenv("AUTOGRADER_COURSE_SECRET", raising=False)

    def run(*words: object) -> Any:
        return CliRunner().invoke(app, [str(word) for word in words])

    return run


@pytest.fixture
def module(tmp_path: Path, solved: Submission) -> Path:
    """The solution, as a file that was submitted."""
    path = tmp_path / "tiny.py"
    path.write_bytes(solved.code.cells[0])
    return path


@pytest.fixture
def give_results(monkeypatch: pytest.MonkeyPatch) -> GiveResults:
    """Replace the grader with one that returns these results without a sandbox."""

    def give(*results: SubmissionResult) -> None:
        def grade_each(
            _course: Course,
            _submissions: object,
            on_result: Callable[..., None],
            **_options: object,
        ) -> Results:
            for number, result in enumerate(results):
                on_result(number, result)
            return Results(course="tiny", isolation="full", submissions=())

        monkeypatch.setattr("autograder.grading.grade.grade_each", grade_each)

    return give


@pytest.fixture
def recorded(give_results: GiveResults, tmp_path: Path) -> Recorded:
    """Replace the grader with one that gives ada points; return the path of the record."""

    def give(points: float) -> Path:
        ada = SubmissionResult(
            student="ada", stage="01_tiny", status=Status.GRADED, score=points, max_score=10.0
        )
        give_results(ada)
        return tmp_path / "results.json"

    return give


@pytest.fixture
def without_extras() -> RunWithoutExtras:
    """Run the command line in a folder as if no extra was installed."""

    def run(folder: Path, *words: object) -> "subprocess.CompletedProcess[str]":
        script = (
            "import sys\nfrom autograder.cli import app\n"
            "from autograder.cli.command_group import EXTRAS\n"
            "sys.modules.update(dict.fromkeys(EXTRAS))\napp(sys.argv[1:])\n"
        )
        command = [sys.executable, "-c", script, *map(str, words)]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603  # this Python, on the lines above

    return run
