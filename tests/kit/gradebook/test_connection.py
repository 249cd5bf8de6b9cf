"""Tests the options of nbgrader for a course, and errors in its files and its database."""

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from traitlets.config import Config
from traitlets.utils.importstring import import_item

from autograder.course import Course, load
from autograder.errors import CourseError, UsageError
from autograder.gradebook.connection import NbgraderSetup, set_options
from autograder.gradebook.writer import Writer
from autograder.grading.provenance import Provenance
from autograder.results import Results
from tests.kit.commands import run
from tests.kit.factories import (
    SOLUTION,
    STAGE,
    Made,
    StudentWork,
    WriteBook,
    add_settings,
    rows,
)


def wait_for_no_lock(course: Course) -> None:
    """Make a locked gradebook fail at once and not after five seconds."""
    book = f"sqlite:///{course.root / 'gradebook.db'}?timeout=0"
    add_settings(course, f"c.CourseDirectory.db_url = {book!r}\n")


def test_a_locked_gradebook_is_reported(course: Course, graded: Made, write: WriteBook):
    """A locked gradebook is reported with the programs that may have locked it."""
    wait_for_no_lock(course)
    with closing(sqlite3.connect(course.root / "gradebook.db")) as other:
        other.execute("begin exclusive")

        with pytest.raises(UsageError, match=r"locked.*another program"):
            write(graded())


@pytest.mark.parametrize(
    "data", [pytest.param(b"hello" * 500, id="text"), pytest.param(b"SQLite format 3\0", id="cut")]
)
def test_a_file_that_is_not_a_gradebook_is_reported(
    course: Course, graded: Made, write: WriteBook, data: bytes
):
    """A file that is not a gradebook is reported and not changed."""
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
def test_unusable_settings_are_reported(course: Course, work: StudentWork, more: str):
    """A configuration file that cannot be used is reported before grading."""
    add_settings(course, more)

    with pytest.raises(UsageError, match=r"nbgrader_config\.py can't be used: "):
        Writer(course, [work()])


def test_a_course_without_settings_has_ours(course: Course, write: WriteBook, graded: Made):
    """A course without nbgrader_config.py has the kit's settings."""
    (course.root / "nbgrader_config.py").unlink()
    write(graded())

    assert rows(course.root)["double"].auto == 5.0


def test_an_instructors_settings_win(course: Course):
    """An instructor's settings follow the kit's in nbgrader_config.py, so they take effect."""
    more = "c.CourseDirectory.submitted_directory = 'submitted'\nc.Autograde.force = True\n"
    add_settings(course, more)
    setup = NbgraderSetup.of_course(course)

    assert setup.coursedir.submitted_directory == "submitted"
    assert setup.config.Autograde.force is True
    assert setup.autograded("ada", "01_tiny") == course.root / "autograded/ada/01_tiny"


def test_a_file_that_raises_is_reported(course: Course):
    """If the configuration raises, the message names the file that nbgrader was reading."""
    (course.root / "nbgrader_config.py").write_text("import nowhere_to_be_found", "utf-8")

    with pytest.raises(UsageError, match=r"nbgrader_config\.py can't be used: ModuleNotFoundError"):
        NbgraderSetup.of_course(course)


def test_a_file_that_exits_is_reported(course: Course):
    """A configuration file that exits is reported; the kit's file exits if the kit is damaged."""
    (course.root / "nbgrader_config.py").write_text("raise SystemExit('no kit')", "utf-8")

    with pytest.raises(UsageError, match=r"nbgrader_config\.py can't be used: SystemExit: no kit"):
        NbgraderSetup.of_course(course)


@pytest.fixture
def config(course: Course) -> Config:
    """The options of the tiny course."""
    config = Config()
    set_options(config, course.root / "nbgrader_config.py")
    return config


def test_the_course_is_the_one_next_to_the_file(course: Course, config: Config):
    """The course is the one next to the file, for any folder in which the command started."""
    assert config.CourseDirectory.root == str(course.root.resolve())
    assert config.CourseDirectory.course_id == course.id == "tiny"
    assert config.CourseDirectory.release_directory == "assignments"


def test_every_class_that_is_named_exists(config: Config):
    """Every class that the settings name exists."""
    names = (
        *config.Autograde.sanitize_preprocessors,
        *config.Autograde.autograde_preprocessors,
        *config.GenerateFeedback.preprocessors,
        config.ExportApp.plugin_class,
    )

    assert all(isinstance(import_item(name), type) for name in names)


def test_no_step_runs_a_notebook(config: Config):
    """The lists of preprocessors do not contain nbgrader's Execute."""
    steps = [*config.Autograde.sanitize_preprocessors, *config.Autograde.autograde_preprocessors]

    assert not any("Execute" in step for step in steps)


def test_alembic_is_found_next_to_this_python(course: Course, monkeypatch: pytest.MonkeyPatch):
    """Alembic is found next to this Python, even if PATH lacks the environment."""
    monkeypatch.setenv("PATH", os.pathsep.join(["/usr/bin", "/bin"]))
    set_options(Config(), course.root / "nbgrader_config.py")
    set_options(Config(), course.root / "nbgrader_config.py")

    assert shutil.which("alembic") == str(Path(sys.executable).parent / "alembic")
    assert os.environ["PATH"].count(str(Path(sys.executable).parent)) == 1


def test_a_missing_course_is_reported(tmp_path: Path):
    """A copy of nbgrader_config.py without the course is reported."""
    with pytest.raises(CourseError, match=r"course\.toml is missing"):
        set_options(Config(), tmp_path / "nbgrader_config.py")


@pytest.fixture
def class_(course: Course, released: dict[str, Any]) -> Course:
    """The course with one submission, and the path of the journal of its grading."""
    folder = course.root / "submitted" / "ada" / STAGE
    folder.mkdir(parents=True)
    (folder / "tiny.py").write_text(SOLUTION)
    (folder / "lab.ipynb").write_text(json.dumps(released))
    wait_for_no_lock(course)
    return course


WORDS = ("autograder", "grade", "submitted", "--gradebook", "--json", "results.json")


@contextmanager
def locked(course: Course) -> Iterator[None]:
    """Lock the gradebook, as a formgrader does that saves a grade."""
    with closing(sqlite3.connect(course.root / "gradebook.db")) as book:
        book.execute("begin exclusive")
        yield


def test_nothing_is_graded_while_the_gradebook_is_locked(class_: Course):
    """While the gradebook is locked nothing is graded, and the exit code is 2."""
    with locked(class_):
        output = run(class_.root, *WORDS, code=2)

    assert "locked by another program" in output
    assert not (class_.root / "results.json.journal").exists()


def test_a_gradebook_that_is_locked_after_the_grading_loses_nothing(
    class_: Course, graded: Made, monkeypatch: pytest.MonkeyPatch
):
    """If the gradebook is locked, the record is kept, and the command can be repeated."""
    calls: list[ExitStack] = []

    def grade_each(course: Course, submissions, on_result, *, isolation: str, **_more) -> Results:
        calls.append(ExitStack())
        calls[-1].enter_context(locked(course))
        [submission] = submissions
        provenance = Provenance(course, isolation)
        on_result(0, provenance.begin(submission)(graded()))
        return provenance.record(())

    monkeypatch.setattr("autograder.grading.grade.grade_each", grade_each)
    output = run(class_.root, *WORDS, code=1)
    calls[0].close()
    again = run(class_.root, *WORDS)

    assert "locked by another program" in output
    assert "1 submission is in the gradebook." in again
    assert (len(calls), rows(class_.root)["double"].auto) == (1, 5.0)


@pytest.mark.parametrize("name", ["50%25 done", "what?", "[1] #2 'a' \"b\" $HOME", "Übung 🙂"])
def test_the_gradebook_is_in_the_folder_of_the_course(tiny: Course, tmp_path: Path, name: str):
    """The database of a course is in its own folder, with any characters in the path."""
    moved = load(tiny.root.rename(tmp_path / name))
    with NbgraderSetup.of_course(moved).gradebook():
        pass

    assert (tmp_path / name / "gradebook.db").is_file()
    assert [path.name for path in tmp_path.iterdir()] == [name]
