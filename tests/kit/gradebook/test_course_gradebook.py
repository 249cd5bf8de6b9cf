"""Tests the gradebook of a course, as the commands read and write it."""

from pathlib import Path

import pytest

from autograder.course import Course
from autograder.gradebook.course_gradebook import CourseGradebook
from autograder.submission.collect import find
from autograder.submission.lazy_submissions import LazySubmissions
from tests.kit.factories import SOLUTION, STAGE

ROSTER = "id,first_name,last_name,lms_user_id\nada,Ada,Lovelace,7\n"


@pytest.fixture
def roster(tmp_path: Path) -> Path:
    """A roster of one student."""
    file = tmp_path / "students.csv"
    file.write_text(ROSTER)
    return file


def test_no_roster_is_read_where_there_is_none(course: Course):
    """If the gradebook has no numbers of an LMS, ids stay as they are."""
    assert CourseGradebook(course).roster(()) is None


def test_reading_a_roster_makes_no_database(tiny: Course, roster: Path):
    """Reading a roster from a file makes no database."""
    read = CourseGradebook(tiny).roster([roster])

    assert read is not None
    assert [person.student for person in read.people] == ["ada"]
    assert not (tiny.root / "gradebook.db").exists()


def test_the_roster_gives_the_gradebook_its_names(course: Course, roster: Path):
    """Only students who submitted are registered, with their names in the roster."""
    book = CourseGradebook(course)
    book.register(book.roster([roster]), ["ada", "bob"])
    known = book.roster(())

    assert book.names() == {"ada": "Ada Lovelace"}
    assert known is not None
    assert [person.number for person in known.people] == ["7"]


def test_a_late_submission_without_a_due_date_is_a_remark(course: Course, tmp_path: Path):
    """A late submission without a due date is a remark and changes nothing."""
    download = tmp_path / "download"
    download.mkdir()
    (download / "adalovelace_LATE_11_501_tiny.py").write_text(SOLUTION)
    submissions = LazySubmissions.of([find(download, course.stages)])
    stamped, remarks = CourseGradebook(course).stamped(submissions)

    assert [item.stamp for item in stamped] == [None]
    assert [remark.partition(",")[0] for remark in remarks] == [f"{STAGE} has no due date"]


def test_the_grade_table_has_the_stages_of_the_gradebook(course: Course):
    """The grade table has the stages of the gradebook, and no student before a grade."""
    table = CourseGradebook(course).grade_table()

    assert [stage.name for stage in table.stages] == [STAGE]
    assert table.rows == ()
