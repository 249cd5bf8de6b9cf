"""Tests giving one student more time, before or after the submission."""

import datetime as dt
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.errors import UsageError
from autograder.gradebook.course_gradebook import CourseGradebook, parse_extension
from tests.kit.factories import LATE, STAGE, Made, StudentWork, WriteBook, add_settings, query

DUE = dt.datetime(2026, 11, 1, 10)  # noqa: DTZ001  # nbgrader stores UTC without a zone
ZERO = 'c.LateSubmissionPlugin.penalty_method = "zero"\n'


@pytest.fixture
def due(course: Course) -> None:
    """The stage has a due date, a penalty, and a student who has a name."""
    query(course.root, "update assignment set duedate = '2026-11-01 10:00:00.000000'")
    query(
        course.root, "insert into student (id, first_name, last_name) values ('ada', 'A', 'King')"
    )
    add_settings(course, ZERO)


def extend(course: Course, student: str, when: str) -> list[str]:
    """Give *student* until *when*."""
    return CourseGradebook(course).extend(student, course.stage(STAGE), when)


def penalties(root: Path) -> list[tuple]:
    """The late penalties in the gradebook."""
    return query(root, "select late_submission_penalty from submitted_notebook")


@pytest.mark.parametrize(
    ("when", "hours"),
    [
        pytest.param("2026-11-03 12:00 UTC", 50, id="time"),
        pytest.param("2026-11-03 12:00:00", 50, id="time-without-zone"),
        pytest.param("2026-11-03", 48, id="day"),
        pytest.param("2d", 48, id="days"),
        pytest.param("+36 hours", 36, id="hours"),
    ],
)
def test_the_time_is_absolute_or_relative(when: str, hours: int):
    """An extension by days keeps the time of day of the due date."""
    assert parse_extension(when, DUE) == dt.timedelta(hours=hours)


@pytest.mark.parametrize(
    ("when", "words"),
    [
        pytest.param("next week", "'next week' is not a valid time", id="words"),
        pytest.param("2026-10-31", "is not after the due date of the class", id="earlier"),
        pytest.param("0d", "is not after the due date of the class", id="no-time"),
    ],
)
def test_another_time_is_refused(when: str, words: str):
    """A text that is not a time is refused with the valid forms."""
    with pytest.raises(UsageError, match=words):
        parse_extension(when, DUE)


@pytest.mark.usefixtures("due")
def test_an_extension_after_the_grading_removes_the_penalty_at_once(
    course: Course, write: WriteBook, graded: Made, work: StudentWork
):
    """An extension removes the penalty without a regrade, and `none` restores it."""
    write(graded(), ada=work(stamp=LATE))
    lines = extend(course, "king", "3h")
    after = penalties(course.root)
    extend(course, "ada", "none")

    assert lines == [
        f"ada, {STAGE}: due 2026-11-01 13:00 UTC, 3 h after the class.",
        "The late penalty changed from 10 points to 0.",
    ]
    assert (after, penalties(course.root)) == ([(None,)], [(10.0,)])


@pytest.mark.usefixtures("due")
def test_an_extension_before_the_submission_counts_when_it_is_graded(
    course: Course, write: WriteBook, graded: Made, work: StudentWork
):
    """An extension gives no score before a submission, and no penalty after it."""
    extend(course, "ada", "1d")
    before = CourseGradebook(course).grade_table().rows[0].scores
    write(graded(), ada=work(stamp=LATE))

    assert before == {}
    assert penalties(course.root) == [(None,)]


@pytest.mark.usefixtures("due")
def test_an_extension_that_is_taken_back_leaves_no_row(course: Course):
    """A withdrawn extension leaves no row in the gradebook if there is no submission."""
    extend(course, "ada", "1d")
    lines = extend(course, "ada", "none")

    assert lines == [f"ada, {STAGE}: due 2026-11-01 10:00 UTC, as for the class."]
    assert query(course.root, "select count(*) from submitted_assignment") == [(0,)]


def test_without_a_due_date_there_is_nothing_to_extend(course: Course):
    """Without a due date, the message has the command that sets one."""
    with pytest.raises(UsageError, match="nbgrader db assignment add"):
        extend(course, "ada", "1d")
