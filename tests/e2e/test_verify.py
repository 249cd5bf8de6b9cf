"""The course is consistent. This is the one run of `autograder verify` on all of it."""

import subprocess
import sys

import pytest


def test_verify_finds_nothing(pytestconfig: pytest.Config):
    """Every stub, solution, variant, misconception and documented tensor is as it must be."""
    command = [sys.executable, "-m", "autograder", "verify"]
    run = subprocess.run(command, cwd=pytestconfig.rootpath, capture_output=True, text=True)  # noqa: S603, PLW1510  # our own command; the code is asserted

    assert run.stderr == ""
    assert run.stdout.endswith("Everything holds.\n")
    assert run.returncode == 0
