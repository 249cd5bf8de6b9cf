"""Tests the zip for Gradescope."""

import shutil
import stat
import subprocess
import zipfile
from importlib import resources
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.cli import app
from autograder.course import Course, find_root, load
from autograder.course_file import read_toml
from autograder.errors import CourseError
from autograder.gradescope.bundle import (
    REQUIRED,
    SCRIPTS,
    BundleConfig,
    build_zip,
    derived_secret,
    requirements,
    to_toml,
)
from tests.kit.factories import WriteCourse, opened, write_files

TEMPLATES = resources.files("autograder.gradescope") / "templates"

pytestmark = pytest.mark.usefixtures("without_secret")


def test_the_scripts_lie_at_the_root_and_can_be_run(tiny: Course):
    """Only `setup.sh` and `run_autograder`, at the root of the zip, are executable."""
    with opened(build_zip(tiny).content) as archive:
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}

    assert set(SCRIPTS) <= set(modes)
    assert {name for name, mode in modes.items() if mode & 0o111} == set(SCRIPTS)
    assert all(stat.S_ISREG(mode) for mode in modes.values())


def test_two_bundles_of_a_course_are_equal(tiny: Course):
    """Two bundles of a course are equal byte for byte, at any time."""
    assert build_zip(tiny).content == build_zip(tiny).content


def test_the_instructor_learns_what_to_set(write_course: WriteCourse):
    """The command prints the points, the memory, and whether hidden inputs are secret."""
    course = write_course(stages=("01_tiny", "02_tiny"))
    remarks = " ".join(build_zip(course).remarks)

    assert "autograder points to 20." in remarks
    assert "1536 MiB" in remarks
    assert "No course secret" in remarks


def test_setup_installs_exactly_what_is_pinned():
    """`setup.sh` installs uv, and then the packages that two files of the bundle pin."""
    script = (TEMPLATES / "setup.sh").read_text("utf-8")
    install = script.partition("uv pip install ")[2].partition("\npackages=")[0]

    assert '--constraint "$here/constraints.txt"' in install
    assert install.endswith('--requirement "$here/requirements.txt"')
    assert script.count("pip install") == 2, "uv itself, by its pinned version, and the rest"


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_scripts_are_bash_and_stop_at_the_first_error(name: str):
    """The scripts are valid bash and begin with `set -euo pipefail`."""
    script = (TEMPLATES / name).read_text("utf-8")
    first = next(line for line in script.splitlines() if line and not line.startswith("#"))
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)  # noqa: S607  # bash, by name

    assert script.startswith("#!/usr/bin/env bash\n")
    assert first == "set -euo pipefail"


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck here")
@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck_finds_nothing(name: str):
    """Shellcheck reports no problem in the scripts."""
    script = (TEMPLATES / name).read_text("utf-8")
    subprocess.run(["shellcheck", "-"], input=script, text=True, check=True)  # noqa: S607  # found on PATH


def test_the_command_writes_the_zip(tiny: Course, tmp_path: Path):
    """`autograder bundle gradescope --stage 01 -o FILE` writes the zip."""
    file = tmp_path / "made.zip"
    arguments = ["bundle", "gradescope", "--stage", "01", "--isolation", "full", "-o", str(file)]
    result = CliRunner().invoke(app, [*arguments, "--course", str(tiny.root)])

    assert result.exit_code == 0, result.output
    assert f"gradescope: {file}" in result.output
    with zipfile.ZipFile(file) as archive:
        assert b'isolation = "full"' in archive.read("bundle.toml")


def test_an_unknown_platform_is_refused(tiny: Course):
    """The message about an unknown platform lists the known ones."""
    result = CliRunner().invoke(app, ["bundle", "elsewhere", "--course", str(tiny.root)])

    assert result.exit_code == 2
    assert "gradescope" in result.output


def test_a_bundle_has_its_own_secret():
    """The secret of a bundle is derived from the course's; a course without one gives none."""
    assert derived_secret(b"one") == derived_secret(b"one") != derived_secret(b"another")
    assert b"one" not in derived_secret(b"one")
    assert derived_secret(b"") == b""


def test_what_is_installed_is_pinned(pytestconfig: pytest.Config):
    """Every package that grading imports has one version in the course's constraints."""
    found = requirements(load(find_root(pytestconfig.rootpath)))
    pins = dict(
        line.split("==")
        for line in found["constraints.txt"].decode().splitlines()
        if not line.startswith("#")
    )

    assert found["requirements.txt"].decode().split() == list(REQUIRED)
    assert set(REQUIRED) <= set(pins)


def test_a_course_without_constraints_gets_our_versions(tiny: Course):
    """Versions are pinned without a build's label, because few indexes have torch 2.13.0+cpu."""
    pins = requirements(tiny)["constraints.txt"].decode().splitlines()

    assert [pin.partition("==")[0] for pin in pins] == list(REQUIRED)
    assert all("==" in pin and "+" not in pin for pin in pins)


def test_it_holds_what_grading_reads_and_nothing_of_a_class(tiny: Course):
    """The bundle holds no gradebook, submission, report or secret of the course."""
    write_files(
        tiny.root,
        {
            "gradebook.db": "marks",
            "submitted/ada/01_tiny/tiny.py": "hers",
            "autograded/ada/01_tiny/tiny.py": "hers",
            "reports/index.html": "marks",
            ".course-secret": "sesame-4711-sesame\n",
            ".git/config": "remote",
            "tests/hidden/01_tiny/__pycache__/test_tiny.pyc": "",
            "tests/hidden/ready_made.toml": 'softmax = ["softmax"]\n',
            "tests/hidden/rules.toml": "format_version = 1\nrule = []\n",
        },
    )
    content = build_zip(tiny).content
    with opened(content) as archive:
        packed = {name for name in archive.namelist() if name.startswith("course/")}
        texts = [archive.read(name) for name in archive.namelist()]

    assert packed == {
        "course/.course-secret",
        "course/course.toml",
        "course/solutions/01_tiny/tiny.py",
        "course/source/01_tiny/stage.toml",
        "course/tests/hidden/01_tiny/misconceptions.py",
        "course/tests/hidden/01_tiny/test_tiny.py",
        "course/tests/hidden/documented.toml",
        "course/tests/hidden/ready_made.toml",
        "course/tests/hidden/rules.toml",
    }
    assert not any(b"sesame-4711" in text for text in texts)


def test_a_bundle_of_one_stage_holds_no_other_solution(write_course: WriteCourse):
    """A bundle of one stage has only `stage.toml` of the other stages."""
    course = write_course(stages=("01_tiny", "02_tiny"))
    with opened(build_zip(course, [course.stage("02")]).content) as archive:
        others = [name for name in archive.namelist() if "01_tiny" in name]
        config = archive.read("bundle.toml").decode()

    assert others == ["course/source/01_tiny/stage.toml"]
    assert config == (
        'format_version = 1\nstages = ["02_tiny"]\nisolation = "process"\n'
        'visibility = "after_due_date"\n'
    )


def test_a_course_with_a_missing_file_is_not_packed(tiny: Course):
    """A course with a missing file is not packed; the message contains the command to run."""
    tiny.stage("01").solution.unlink()

    with pytest.raises(CourseError, match=r"tiny\.py can't be packed: .*autograder verify"):
        build_zip(tiny)


def test_the_configuration_is_read_as_it_was_written(tmp_path):
    """`bundle.toml` keeps the stages, the isolation and the visibility."""
    config = BundleConfig(
        format_version=1, stages=("01_tiny", "02_tiny"), isolation="full", visibility="visible"
    )
    file = tmp_path / "bundle.toml"
    file.write_bytes(to_toml(config))

    assert read_toml(file, BundleConfig) == config
