"""`nbgrader zip_collect` finds the student of a file as `autograder grade` does."""

import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from nbgrader.apps.zipcollectapp import ZipCollectApp

from autograder.course import Course
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.zip_collector import ZipCollector
from autograder.submission.names import student_id
from tests.factories import STAGE
from tests.kit.commands import run

MODULE = "_1201_88_tiny.py"
Collected = Callable[..., list[tuple[str, str] | None]]


def archive(members: Mapping[str, bytes]) -> bytes:
    """A zip of *members*."""
    page = io.BytesIO()
    with zipfile.ZipFile(page, "w") as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return page.getvalue()


@pytest.fixture
def app(course: Course) -> ZipCollectApp:
    """The command of nbgrader, set up but not started."""
    setup = NbgraderSetup.of_course(course)
    made = ZipCollectApp(config=setup.config)
    made.coursedir = setup.coursedir
    made.coursedir.assignment_id = STAGE
    return made


@pytest.fixture
def collected(app: ZipCollectApp) -> Collected:
    """Collect files as if they had been extracted: student and file of each, in order."""

    def collect(*names: str, **options: object) -> list[tuple[str, str] | None]:
        folder = Path(app._format_collect_path(app.extracted_directory))
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(b"x")
        collector = ZipCollector(parent=app, **options)
        found = [collector.collect(str(folder / name)) for name in sorted(names)]
        return [item and (item["student_id"], item["file_id"]) for item in found]

    return collect


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("lovelaceada" + MODULE, ("lovelaceada_1201", "tiny.py"), id="canvas"),
        pytest.param("lovelaceada_LATE" + MODULE, ("lovelaceada_1201", "tiny.py"), id="late"),
        pytest.param("lovelaceada_1201_88_hw/lab.ipynb", ("lovelaceada_1201", "lab.ipynb"), id="z"),
        pytest.param(
            "Ada Lovelace_77_assignsubmission_file_/tiny.py",
            ("Ada Lovelace_77", "tiny.py"),
            id="moodle",
        ),
        pytest.param("ada/tiny.py", ("ada", "tiny.py"), id="folder"),
        pytest.param("ada/01_tiny/src/lab.ipynb", ("ada", "lab.ipynb"), id="deep"),
        pytest.param("ada/TINY.PY", ("ada", "TINY.PY"), id="capitals"),
        pytest.param("a<b>/tiny.py", (student_id("a<b>"), "tiny.py"), id="name-made-safe"),
        pytest.param("ada/timestamp.txt", None, id="time-of-their-own"),
        pytest.param("ada/gradebook.db", None, id="database"),
        pytest.param("ada/__MACOSX/._tiny.py", None, id="generated"),
        pytest.param("ada/.ipynb_checkpoints/lab.ipynb", None, id="checkpoint"),
        pytest.param("tiny.py", None, id="no-student"),
    ],
)
def test_a_files_student_is_found_by_its_path(
    collected: Collected, name: str, expected: tuple | None
):
    """It needs no regular expression; other files than modules and notebooks are skipped."""
    assert collected(name) == [expected]


def test_of_two_files_of_one_name_the_first_is_kept(collected: Collected):
    """By itself, nbgrader would refuse the whole class."""
    assert collected("ada/a/tiny.py", "ada/b/tiny.py", "bob/tiny.py") == [
        ("ada", "tiny.py"), None, ("bob", "tiny.py"),
    ]  # fmt: skip


def test_a_class_in_one_archive_is_a_class(collected: Collected):
    """Canvas and Moodle pack it so: the archive's name is no student."""
    names = ("submissions/a" + MODULE, "submissions/b_1202_89_hw/tiny.py", "submissions/.x/y.py")

    assert collected(*names) == [None, ("a_1201", "tiny.py"), ("b_1202", "tiny.py")]


def test_a_students_archive_has_one_student(collected: Collected):
    """Names inside it that look like an LMS's change nothing."""
    inside = "eve/bob" + MODULE

    assert collected(inside, "eve/tiny.py") == [("eve", "bob" + MODULE), ("eve", "tiny.py")]
    assert collected("bob/tiny.py", inside) == [("bob", "tiny.py"), ("eve", "bob" + MODULE)]


def test_an_instructors_regular_expression_is_used(collected: Collected):
    """It replaces our own rules."""
    expression = r".*/(?P<student_id>\w+)-(?P<file_id>\w+)\.py"

    assert collected("ada-tiny.py", named_regexp=expression) == [("ada", "tiny")]


def test_the_command_collects_canvas_moodle_and_plain_zips(course: Course):
    """Modules and notebooks are collected into nbgrader's folders by student."""
    both = {"tiny.py": b"1", "lab.ipynb": b"{}", "timestamp.txt": b"1999-01-01 00:00:00 UTC"}
    files = {
        "lovelaceada" + MODULE: b"2",
        "lovelaceada_1201_88_lab.ipynb": b"{}",
        "hopper_LATE_1202_89_work.zip": archive({"01_tiny/tiny.py": b"3"}),
        "Emmy Noether_77_assignsubmission_file_/tiny.py": b"4",
        "bob.zip": archive(both),
        "eve.zip": archive({"a/tiny.py": b"5", "b/tiny.py": b"6"}),
        "nobody.py": b"7",
    }
    for name, data in files.items():
        path = course.root / "downloaded" / STAGE / "archive" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    output = run(course.root, "nbgrader", "zip_collect", STAGE)
    submitted = course.root / "submitted"

    assert {
        str(path.relative_to(submitted)): path.read_bytes()
        for path in submitted.rglob("*")
        if path.is_file()
    } == {
        f"lovelaceada_1201/{STAGE}/tiny.py": b"2",
        f"lovelaceada_1201/{STAGE}/lab.ipynb": b"{}",
        f"hopper_1202/{STAGE}/tiny.py": b"3",
        f"Emmy Noether_77/{STAGE}/tiny.py": b"4",
        f"bob/{STAGE}/tiny.py": b"1",
        f"bob/{STAGE}/lab.ipynb": b"{}",
        f"eve/{STAGE}/tiny.py": b"5",
    }
    assert "Whose is nobody.py? Put it into a folder named after the student." in output
    assert "eve handed in two files named tiny.py; the first is kept." in output
