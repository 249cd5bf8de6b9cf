"""nbgrader as a course has configured it, and what is wrong with its files or its database."""

import sqlite3
from contextlib import closing

import pytest

from autograder.course import Course
from autograder.errors import UsageError
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.writer import Writer
from tests.factories import HandIn, Made, WriteBook, add_settings, rows


def test_a_locked_gradebook_is_reported(course: Course, graded: Made, write: WriteBook):
    """The message says what may have locked it."""
    book = f"sqlite:///{course.root / 'gradebook.db'}?timeout=0"
    add_settings(course, f"c.CourseDirectory.db_url = {book!r}\n")
    with closing(sqlite3.connect(course.root / "gradebook.db")) as other:
        other.execute("begin exclusive")

        with pytest.raises(UsageError, match=r"locked.*another program"):
            write(graded())


@pytest.mark.parametrize(
    "data", [pytest.param(b"hello" * 500, id="text"), pytest.param(b"SQLite format 3\0", id="cut")]
)
def test_a_file_that_is_no_gradebook_is_reported(
    course: Course, graded: Made, write: WriteBook, data: bytes
):
    """It is not changed."""
    (course.root / "gradebook.db").write_bytes(data)

    with pytest.raises(UsageError, match="not a database"):
        write(graded())
    assert (course.root / "gradebook.db").read_bytes() == data


@pytest.mark.parametrize(
    "more",
    [
        pytest.param("1 / 0\n", id="raises"),
        pytest.param("def broken(:\n", id="no-python"),
        pytest.param('c.AssignLatePenalties.plugin_class = "nowhere.Late"\n', id="no-such-plugin"),
        pytest.param('c.AssignLatePenalties.plugin_class = "pathlib.Path"\n', id="no-plugin"),
    ],
)
def test_unusable_settings_are_reported(course: Course, hand_in: HandIn, more: str):
    """The message names the file, before anything is graded."""
    add_settings(course, more)

    with pytest.raises(UsageError, match=r"nbgrader_config\.py can't be used: "):
        Writer(course, [hand_in()])


def test_a_course_without_settings_has_ours(course: Course, write: WriteBook, graded: Made):
    """Only nbgrader's commands need nbgrader_config.py."""
    (course.root / "nbgrader_config.py").unlink()
    write(graded())

    assert rows(course.root)["double"].auto == 5.0


def test_an_instructors_settings_win(course: Course):
    """They follow ours in nbgrader_config.py."""
    more = "c.CourseDirectory.submitted_directory = 'handed_in'\nc.Autograde.force = True\n"
    add_settings(course, more)
    setup = NbgraderSetup.of_course(course)

    assert setup.coursedir.submitted_directory == "handed_in"
    assert setup.config.Autograde.force is True
    assert setup.autograded("ada", "01_tiny") == course.root / "autograded/ada/01_tiny"


def test_a_file_that_raises_is_reported(course: Course):
    """The message names the file that nbgrader was reading."""
    (course.root / "nbgrader_config.py").write_text("import nowhere_to_be_found", "utf-8")

    with pytest.raises(UsageError, match=r"nbgrader_config\.py can't be used: ModuleNotFoundError"):
        NbgraderSetup.of_course(course)


def test_a_file_that_exits_is_reported(course: Course):
    """Ours does so where the kit is damaged."""
    (course.root / "nbgrader_config.py").write_text("raise SystemExit('no kit')", "utf-8")

    with pytest.raises(UsageError, match=r"nbgrader_config\.py can't be used: SystemExit: no kit"):
        NbgraderSetup.of_course(course)
