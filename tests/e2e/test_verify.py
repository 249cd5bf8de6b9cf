"""Tests that the course is consistent: `autograder verify` has no finding in any stage."""

import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from autograder import course as courses
from autograder.authoring.recording import in_processes, open_recorder
from autograder.authoring.stage_verifier import StageVerifier, narrow_margins
from autograder.authoring.verify import wrong_records
from autograder.course import Course, Stage
from autograder.grading.suite_runner import open_suites
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.supervisor import ForkServer

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


def only_in_the_full_proof(course: Course, stages: Sequence[Stage]) -> tuple[list[str], int]:
    """The findings of the full proof without those of `verify`, and the number of bounds."""
    findings, margins = [], []
    with (
        ForkServer(detect_capabilities().level, course.limits) as server,
        open_suites(course, stages) as runner,
    ):
        server.wait_ready()
        for stage in stages:
            verifier = StageVerifier(runner, server, stage, full=True)
            findings += verifier.more_problems()
            found = list(verifier.smallest_margins())
            findings += narrow_margins(stage.name, found)
            margins += found
    with open_recorder(course, stages) as recorder:
        for stage in stages:
            findings += wrong_records(stage, recorder, full=True)
    return findings, len(margins)


@pytest.mark.slow
def test_the_full_proof_finds_nothing(course: Course):
    """Every variant is right, and correct code is far from every bound.

    The rest of the full proof is that of the test above. The public suite has the same bounds;
    nightly tests measure how far correct code is from them with its inputs, too.
    """
    parts = in_processes(partial(only_in_the_full_proof, course), course.every_stage)

    assert [finding for findings, _ in parts for finding in findings] == []
    assert all(count for _, count in parts)


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
