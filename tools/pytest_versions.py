"""Runs the suites with the oldest and the newest pytest: python -m tools.pytest_versions.

The oldest is the one that pyproject.toml allows, and the newest the one that pip finds. Each is
installed in a temporary folder that is in front of the other packages. With each, all solutions
pass the hidden suites as grading runs them and as plain pytest does, and the tests of the pytest
session pass.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
TESTS = ("tests/kit/grading/test_pytest_session.py", "tests/kit/grading/test_plugin.py")
# As grading does, without naming a mistake: the solutions of all stages, and nothing else.
GRADING = """
from pathlib import Path
import pytest
from autograder.course import load
from autograder.grading.suite_runner import open_suites

course = load(Path.cwd())
with open_suites(course, course.stages, diagnose=False) as runner:
    runner.require_right_solutions()
    checks = sum(len(runner.checks(stage.name)) for stage in course.stages)
print(f"pytest {pytest.__version__}: {checks} checks as in grading")
"""


def main() -> None:
    """Run the suites with each version; exit with 1 if something fails."""
    passed = [_passes(version) for version in (oldest("pytest"), "pytest")]
    sys.exit(not all(passed))


def oldest(package: str) -> str:
    """Return the oldest version of *package* that pyproject.toml allows, as ``pytest==8``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    required: list[str] = project["dependencies"]
    return next(one for one in required if one.startswith(f"{package}>=")).replace(">=", "==")


def _passes(version: str) -> bool:
    with TemporaryDirectory() as folder:
        install = ["-m", "pip", "install", "--quiet", "--upgrade", "--target", folder, version]
        if _run(install):
            return False
        quiet = ["-q", "-n0", "-p", "no:cacheprovider"]
        commands = (
            ["-c", GRADING],
            ["-m", "pytest", *quiet, "tests/hidden"],
            ["-m", "pytest", *quiet, *TESTS],
        )
        codes = [_run(command, PYTHONPATH=folder) for command in commands]
        return not any(codes)


def _run(command: list[str], **environment: str) -> int:
    return subprocess.run(  # noqa: S603  # our own commands
        [sys.executable, *command], cwd=ROOT, env=os.environ | environment, check=False
    ).returncode


if __name__ == "__main__":
    main()
