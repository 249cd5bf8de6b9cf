import subprocess
import sys

import pytest


def test_the_course_proves_itself(pytestconfig: pytest.Config):
    """`autograder verify` finds nothing that does not hold."""
    command = [sys.executable, "-m", "autograder", "verify"]
    run = subprocess.run(command, cwd=pytestconfig.rootpath, capture_output=True, text=True)  # noqa: S603, PLW1510  # our own command; the code is asserted

    assert run.stderr == ""
    assert run.stdout.endswith("Everything holds.\n")
    assert run.returncode == 0
