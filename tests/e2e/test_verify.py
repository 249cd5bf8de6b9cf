"""The course is consistent. This is the one run of `autograder verify` on all of it."""

import subprocess
import sys

import pytest

from autograder.course import load


def test_verify_finds_nothing(pytestconfig: pytest.Config):
    """Every stub, solution, variant, misconception and documented tensor is as it must be.

    Besides progress, of which each stage has two lines, nothing is on the error stream.
    """
    stages = load(pytestconfig.rootpath).file.stages
    parts = ("verifying the hidden suite", "verifying the record and the fingerprints")
    progress = sorted(f"{name}: {part}" for name in stages for part in parts)
    command = [sys.executable, "-m", "autograder", "verify"]
    run = subprocess.run(command, cwd=pytestconfig.rootpath, capture_output=True, text=True)  # noqa: S603, PLW1510  # our own command; the code is asserted

    assert sorted(run.stderr.splitlines()) == progress
    assert run.stdout.endswith("Everything holds.\n")
    assert run.returncode == 0
