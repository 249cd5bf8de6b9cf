"""Tests that the course is consistent: `autograder verify` has no finding in any stage."""

import subprocess
import sys

import pytest

from autograder.course import load

MORE = "`autograder verify --full` also grades variants and prints the prices."


@pytest.mark.parametrize(
    ("options", "end"),
    [
        pytest.param([], f"Everything holds. {MORE}\n", id="usual"),
        pytest.param(["--full"], "Everything holds.\n", marks=pytest.mark.slow, id="full"),
    ],
)
def test_verify_finds_nothing(pytestconfig: pytest.Config, options: list[str], end: str):
    """Every stub, solution, variant, misconception and documented tensor is as it must be.

    The error stream contains only the progress: two lines for each stage, and with `--full` one
    more for each graded stage.
    """
    course = load(pytestconfig.rootpath)
    parts = ("verifying the hidden suite", "verifying the records")
    lines = [f"{name}: {part}" for name in course.file.stages for part in parts]
    if options:
        graded = [stage.name for stage in course.stages if stage.file.graded]
        lines += [f"{name}: grading the modules of the table of prices" for name in graded]
    progress = sorted(lines)
    command = [sys.executable, "-m", "autograder", "verify", *options]
    run = subprocess.run(command, cwd=pytestconfig.rootpath, capture_output=True, text=True)  # noqa: S603, PLW1510  # our own command; the code is asserted

    assert sorted(run.stderr.splitlines()) == progress
    assert run.stdout.endswith(end)
    assert run.returncode == 0
