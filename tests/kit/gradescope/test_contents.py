"""The contents of a bundle are what grading reads, and nothing else."""

import pytest

from autograder.course import Course, find_root, load, read_toml
from autograder.errors import CourseError
from autograder.gradescope.build import build_zip
from autograder.gradescope.contents import (
    REQUIRED,
    BundleConfig,
    derived_secret,
    requirements,
    to_toml,
)
from tests.factories import WriteCourse, opened, write_files

pytestmark = pytest.mark.usefixtures("without_secret")


def test_a_bundle_has_a_secret_of_its_own():
    """It is derived, so that two bundles are equal; a course without one gives none."""
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
    """Without the build's label: any index serves torch 2.13.0, not every one 2.13.0+cpu."""
    pins = requirements(tiny)["constraints.txt"].decode().splitlines()

    assert [pin.partition("==")[0] for pin in pins] == list(REQUIRED)
    assert all("==" in pin and "+" not in pin for pin in pins)


def test_it_holds_what_grading_reads_and_nothing_of_a_class(tiny: Course):
    """No gradebook, no submission, no report, no secret of the course."""
    write_files(
        tiny.root,
        {
            "gradebook.db": "marks",
            "submitted/ada/01_tiny/tiny.py": "hers",
            "autograded/ada/01_tiny/tiny.py": "hers",
            "reports/index.html": "marks",
            ".course-secret": "sesame-4711\n",
            ".git/config": "remote",
            "tests/hidden/01_tiny/__pycache__/test_tiny.pyc": "",
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
    }
    assert not any(b"sesame-4711" in text for text in texts)


def test_a_bundle_of_one_stage_holds_no_other_solution(write_course: WriteCourse):
    """Of the other stages only `stage.toml` is packed."""
    course = write_course(stages=("01_tiny", "02_tiny"))
    with opened(build_zip(course, [course.stage("02")]).content) as archive:
        others = [name for name in archive.namelist() if "01_tiny" in name]
        config = archive.read("bundle.toml").decode()

    assert others == ["course/source/01_tiny/stage.toml"]
    assert config == 'format_version = 1\nstages = ["02_tiny"]\nisolation = "process"\n'


def test_a_course_with_a_missing_file_is_not_packed(tiny: Course):
    """The message names the file and what to run."""
    tiny.stage("01").solution.unlink()

    with pytest.raises(CourseError, match=r"tiny\.py can't be packed: .*autograder verify"):
        build_zip(tiny)


def test_the_configuration_is_read_as_it_was_written(tmp_path):
    """`bundle.toml` keeps the stages and the isolation."""
    config = BundleConfig(format_version=1, stages=("01_tiny", "02_tiny"), isolation="full")
    file = tmp_path / "bundle.toml"
    file.write_bytes(to_toml(config))

    assert read_toml(file, BundleConfig) == config
