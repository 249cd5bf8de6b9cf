"""The zip that Gradescope takes."""

import shutil
import stat
import subprocess
import zipfile
from importlib import resources
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.cli import app
from autograder.course import Course
from autograder.gradescope.build import SCRIPTS, build_zip
from tests.factories import WriteCourse, opened

TEMPLATES = resources.files("autograder.gradescope") / "templates"


pytestmark = pytest.mark.usefixtures("without_secret")


def test_the_scripts_lie_at_the_root_and_can_be_run(tiny: Course):
    """`setup.sh` and `run_autograder` with the executable bit; nothing else has it."""
    with opened(build_zip(tiny).content) as archive:
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}

    assert set(SCRIPTS) <= set(modes)
    assert {name for name, mode in modes.items() if mode & 0o111} == set(SCRIPTS)
    assert all(stat.S_ISREG(mode) for mode in modes.values())


def test_two_bundles_of_a_course_are_equal(tiny: Course):
    """To the byte, at whatever time they are made."""
    assert build_zip(tiny).content == build_zip(tiny).content


def test_the_instructor_learns_what_to_set(write_course: WriteCourse):
    """Points of all stages, memory, and whether the hidden inputs are secret."""
    course = write_course(stages=("01_tiny", "02_tiny"))
    remarks = " ".join(build_zip(course).remarks)

    assert "autograder points to 20." in remarks
    assert "1536 MiB" in remarks
    assert "No course secret" in remarks


def test_setup_installs_exactly_what_is_pinned():
    """One install, from the bundle's own two files."""
    script = (TEMPLATES / "setup.sh").read_text("utf-8")
    install = script.partition("uv pip install ")[2].partition("\npackages=")[0]

    assert '--constraint "$here/constraints.txt"' in install
    assert install.endswith('--requirement "$here/requirements.txt"')
    assert script.count("pip install") == 2, "uv itself, by its pinned version, and the rest"


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_scripts_are_bash_and_stop_at_the_first_error(name: str):
    """`bash -n` reads them; `set -euo pipefail` comes before the first command."""
    script = (TEMPLATES / name).read_text("utf-8")
    first = next(line for line in script.splitlines() if line and not line.startswith("#"))
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)  # noqa: S607  # bash, by name

    assert script.startswith("#!/usr/bin/env bash\n")
    assert first == "set -euo pipefail"


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck here")
@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck_finds_nothing(name: str):
    """Neither a warning nor advice."""
    script = (TEMPLATES / name).read_text("utf-8")
    subprocess.run(["shellcheck", "-"], input=script, text=True, check=True)  # noqa: S607  # by name


def test_the_command_writes_the_zip(tiny: Course, tmp_path: Path):
    """`autograder bundle gradescope --stage 01 -o FILE`."""
    file = tmp_path / "made.zip"
    arguments = ["bundle", "gradescope", "--stage", "01", "--isolation", "full", "-o", str(file)]
    result = CliRunner().invoke(app, [*arguments, "--course", str(tiny.root)])

    assert result.exit_code == 0, result.output
    assert f"gradescope: {file}" in result.output
    with zipfile.ZipFile(file) as archive:
        assert b'isolation = "full"' in archive.read("bundle.toml")


def test_an_unknown_platform_is_refused(tiny: Course):
    """The message lists the platforms that there are."""
    result = CliRunner().invoke(app, ["bundle", "elsewhere", "--course", str(tiny.root)])

    assert result.exit_code == 2
    assert "gradescope" in result.output
