"""Tests the wheels: the kit with the public part of a course, and the solutions of a course."""

import csv
import io
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import autograder
from autograder.authoring import release, wheels
from autograder.course import Course, load
from autograder.errors import CourseError
from tests.kit.factories import SOLUTION

ENGINE = Path(autograder.__file__).parent
ROOT = ENGINE.parent


def contents(wheel: wheels.Wheel) -> dict[str, bytes]:
    """Return the files in *wheel*."""
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_of_this_course_holds_the_engine_and_the_assignments_only():
    """Each file is one of the engine, one that students receive, or metadata of the wheel."""
    course = load(ROOT)
    files = contents(wheels.kit_wheel(course, course.every_stage))
    known = {path.read_bytes() for path in release.visible_files(ENGINE)}
    known |= {path.read_bytes() for path in release.visible_files(ROOT / "assignments")}
    known |= {(ROOT / path).read_bytes() for path in wheels.FILES.values()}
    other = [name for name, content in files.items() if content not in known]

    assert all(".dist-info/" in name for name in other)
    assert all(f"autograder/assignments/{name}/lab.ipynb" in files for name in course.file.stages)


def test_no_secret_of_this_course_is_in_the_wheel():
    """The wheel has no solution, hidden suite, misconception, documented tensor or rule."""
    course = load(ROOT)
    files = set(contents(wheels.kit_wheel(course, course.every_stage)).values())
    folders = (ROOT / "solutions", ROOT / "tests" / "hidden")
    secret = [path for folder in folders for path in release.visible_files(folder)]

    assert len(secret) > 5 * len(course.file.stages)
    assert [path for path in secret if path.read_bytes() in files] == []


def test_pip_finds_each_file_in_the_list(built: Course):
    """RECORD lists every file of the wheel, and itself without a digest."""
    files = contents(wheels.kit_wheel(built, built.every_stage))
    (record,) = (name for name in files if name.endswith("RECORD"))
    rows = {row[0]: row[1:] for row in csv.reader(files[record].decode().splitlines())}

    assert rows.keys() == files.keys()
    assert rows[record] == ["", ""]
    assert all(size == str(len(files[name])) for name, (_, size) in rows.items() if size)


def test_the_metadata_are_those_of_the_installed_kit(built: Course):
    """The wheel needs the same packages and has the same command; its summary is the title."""
    wheel = wheels.kit_wheel(built, built.every_stage)
    files = contents(wheel)
    folder = wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"
    about = message_from_bytes(files[f"{folder}/METADATA"])

    assert about["Name"] == wheels.KIT
    assert about["Version"] in wheel.name
    assert about["Summary"] == built.file.title
    assert any(need.startswith("torch") for need in about.get_all("Requires-Dist"))
    assert b"autograder.__main__:main" in files[f"{folder}/entry_points.txt"]
    assert f"{folder}/licenses/LICENSE" in files


def test_equal_courses_give_equal_wheels(built: Course):
    """The bytes do not depend on the time, so a handout that is up to date is recognized."""
    first, second = (wheels.kit_wheel(built, built.every_stage) for _ in range(2))

    assert first == second
    assert f"+{built.id}.d" in first.name


def test_any_change_gives_another_version(built: Course):
    """Any change gives the wheel a new version, so that pip installs it."""
    before = wheels.kit_wheel(built, built.every_stage)
    hints = built.stages[0].assignment / "hints.toml"
    hints.write_text("# one more\n")

    assert wheels.kit_wheel(built, built.every_stage).name != before.name


def test_a_wheel_holds_the_stages_that_are_asked_for(built_course):
    """A wheel contains only the requested stages, so a class can get them one by one."""
    course = built_course("01_tiny", "02_more")
    names = contents(wheels.kit_wheel(course, course.every_stage[1:]))

    assert "autograder/assignments/02_more/tiny.py" in names
    assert not any("01_tiny" in name for name in names)


def test_a_wheel_holds_the_shared_folder(built: Course):
    """Modules and data of the course are in the wheel, next to the stages."""
    built.shared.mkdir()
    (built.shared / "words.py").write_text("WORDS = 1\n")
    files = contents(wheels.kit_wheel(built, built.every_stage))

    assert files["autograder/assignments/course/words.py"] == b"WORDS = 1\n"


def test_a_stage_that_is_not_built_is_refused(tiny: Course):
    """A stage that is not built is refused with the command that builds it."""
    with pytest.raises(CourseError, match="autograder release"):
        wheels.kit_wheel(tiny, tiny.every_stage)


def test_the_wheel_of_solutions_holds_no_suite(tiny: Course):
    """The wheel of solutions contains the instructor's modules and no suite."""
    wheel = wheels.solutions_wheel(tiny, tiny.every_stage)
    files = contents(wheel)
    modules = [name for name in files if name.startswith("autograder_solutions/")]

    assert modules == ["autograder_solutions/__init__.py"] + [
        f"autograder_solutions/{folder}/01_tiny/{name}"
        for folder, name in (("solutions", "tiny.py"), ("source", "lab.ipynb"))
        if (tiny.root / folder / "01_tiny" / name).is_file()
    ]
    assert files["autograder_solutions/solutions/01_tiny/tiny.py"] == SOLUTION.encode()
    assert wheel.name.startswith("attention_course_kit_solutions-")
