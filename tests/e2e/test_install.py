"""Tests the folder for a class by the steps of START_HERE.md: install, start, solve, check."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kit.commands import run

ROOT = Path(__file__).parents[2]
STAGE = "00_start_here"


@pytest.fixture
def handout(tmp_path: Path) -> Path:
    """The folder for a class with the first stage, outside of any course."""
    run(ROOT, "autograder", "release", "--stage", "00", "--handout", str(tmp_path / "class"))
    return tmp_path / "class"


@pytest.mark.nightly  # installs torch; tests/kit/authoring/test_wheels.py reads the same wheel
def test_the_line_of_the_guide_installs_the_course(handout: Path):
    """The guide's command installs the course in a new environment, where a check passes."""
    line = re.search(r"```console\n(python3 -m venv .*)\n", (handout / "START_HERE.md").read_text())
    assert line is not None

    def shell(command: str) -> str:
        done = subprocess.run(  # noqa: S603  # a line of our own guide
            ["bash", "-c", command],  # noqa: S607  # the shell of the reader
            cwd=handout,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    shell(line[1])
    shell(". .venv/bin/activate && autograder doctor && autograder start")
    solution = ROOT / "solutions" / STAGE / "start_here.py"
    shutil.copy(solution, handout / "my-work" / STAGE / "start_here.py")

    assert "Every public check passes" in shell(". .venv/bin/activate && autograder check 0")
