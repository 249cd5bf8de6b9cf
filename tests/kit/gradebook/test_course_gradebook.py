"""Tests the gradebook of a course, as the commands read and write it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder.course import Course
from autograder.gradebook.course_gradebook import CourseGradebook
from autograder.submission.collect import LazySubmissions, find
from tests.kit.factories import SOLUTION, STAGE, Made, StudentWork, WriteBook, add_settings, query

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


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("21.11.2026 10:00", id="other-form"),
        pytest.param("1763719800", id="seconds"),
        pytest.param("2026-11-21 10:00 PST", id="unknown-zone"),
        pytest.param("soon", id="words"),
        pytest.param("", id="empty"),
        pytest.param("2026-11-21 10:00 UTC " * 20, id="too-long"),
    ],
)
def test_a_time_that_cannot_be_read_is_a_notice(
    course: Course, write: WriteBook, graded: Made, work: StudentWork, text: str
):
    """Work whose time can't be read is never silently in time: a notice shows a valid form."""
    submitted = course.root / "submitted" / "ada" / STAGE
    submitted.mkdir(parents=True)
    (submitted / "tiny.py").write_text(SOLUTION)
    (submitted / "timestamp.txt").write_text(text)
    submissions = LazySubmissions.of([find(course.root / "submitted", course.stages)])
    [stamped], _ = CourseGradebook(course).stamped(submissions)
    result = graded()
    again = write(replace(result, notices=stamped.notices), ada=work(stamp=text.encode()))

    assert stamped.notices[-1].startswith("timestamp.txt holds no time that can be read")
    assert "2026-11-21 10:30:00 +0100" in stamped.notices[-1]
    assert again.remarks[-1] == f"ada, {STAGE}: {stamped.notices[-1]}"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param("", "LateSubmissionPlugin subtracts nothing", id="no-penalty"),
        pytest.param(
            "c.AssignLatePenalties.plugin_class = "
            '"autograder.gradebook.late_penalty.DailyPenalty"\n'
            "c.DailyPenalty.grace_minutes = 15\n",
            "DailyPenalty subtracts nothing",
            id="grace",
        ),
        pytest.param('c.LateSubmissionPlugin.penalty_method = "zero"\n', "", id="penalty"),
    ],
)
def test_late_marks_that_no_penalty_can_reach_are_a_remark(
    course: Course, write: WriteBook, graded: Made, work: StudentWork, tmp_path: Path,
    settings: str, words: str,
):  # fmt: skip
    """A late mark counts as one second; if that costs nothing, `collect` and `grade` say so."""
    query(course.root, "update assignment set duedate = '2026-11-01 10:00:00.000000'")
    add_settings(course, settings)
    download = tmp_path / "download"
    download.mkdir()
    (download / "adalovelace_LATE_11_501_tiny.py").write_text(SOLUTION)
    found = find(download, course.stages)
    _, collected = CourseGradebook(course).collection(course.stage(STAGE)).write(found)
    marked = work(stamp=b"2026-11-01 10:00:01 UTC")
    graded_remarks = write(graded(Scale=0, double=0), ada=marked).remarks

    assert bool(collected) is bool(words)
    assert words in "".join(collected)
    assert list(graded_remarks) == collected


def test_the_grade_table_has_the_stages_of_the_gradebook(course: Course):
    """The grade table has the stages of the gradebook, and no student before a grade."""
    table = CourseGradebook(course).grade_table()

    assert [stage.name for stage in table.stages] == [STAGE]
    assert table.rows == ()
