"""Tests that the course is consistent: `autograder verify` has no finding in any stage."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from autograder import course as courses
from autograder.authoring.verify import verify
from autograder.course import Course

ROOT = Path(__file__).parents[2]
GRADED = [stage.name for stage in courses.load(ROOT).stages if stage.file.graded]
SAMPLE = ("07",)  # the usual slow tests make the table of prices of these stages only
MORE = "`autograder verify --full` also grades variants and prints the prices."


def verified(options: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run the command, which must find nothing."""
    command = [sys.executable, "-m", "autograder", "verify", *options]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603  # our own command
    assert run.returncode == 0, run.stderr
    return run


def test_verify_finds_nothing(course: Course):
    """Every stub, solution, misconception and documented tensor is as it must be.

    The error stream contains only the progress: two lines for each stage.
    """
    parts = ("verifying the hidden suite", "verifying the records")
    progress = sorted(f"{name}: {part}" for name in course.file.stages for part in parts)
    run = verified([])

    assert sorted(run.stderr.splitlines()) == progress
    assert run.stdout.endswith(f"Everything holds. {MORE}\n")


@pytest.mark.slow
def test_the_full_proof_finds_nothing(course: Course):
    """Every variant is right, and correct code is far from every bound."""
    report = verify(course, full=True, prices=False)

    assert report.findings == ()
    assert report.details


@pytest.mark.parametrize(
    "stage",
    [
        pytest.param(
            name, marks=pytest.mark.slow if name.startswith(SAMPLE) else pytest.mark.nightly
        )
        for name in GRADED
    ],
)
def test_prices_keep_their_bounds_and_are_those_of_the_page(stage: str):
    """The graded modules of the stage earn what they may, and the instructor's page has the row."""
    run = verified(["--full", "--stage", stage])
    (row,) = [line for line in run.stdout.splitlines() if line.startswith(f"| {stage} |")]

    assert run.stdout.endswith("Everything holds.\n")
    assert f"{stage}: grading the modules of the table of prices" in run.stderr.splitlines()
    page = ROOT / "docs" / "instructor" / "what-a-mistake-costs.md"
    assert row in page.read_text("utf-8").splitlines()
