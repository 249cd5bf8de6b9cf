"""One student's rows in the gradebook: what the kit sets, and what it never touches."""

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbgrader.api import Gradebook
from nbgrader.preprocessors import SaveAutoGrades

from autograder.course import Course
from autograder.gradebook.score_rows import moment
from tests.kit.gradebook.conftest import STAGE, HandIn, Made, Row, WriteBook, query, rows

GIVEN_BY_HAND = "update grade set manual_score = ?, extra_credit = ? where cell_id = ?"


@pytest.fixture
def book(course: Course) -> Iterator[Gradebook]:
    """The gradebook as nbgrader itself sees it."""
    with Gradebook(f"sqlite:///{course.root / 'gradebook.db'}", course.id) as opened:
        yield opened


def cell_id(root: Path, name: str, kind: str = "GradeCell") -> str:
    """The key of a cell in nbgrader's tables."""
    [(found,)] = query(root, "select id from base_cell where name = ? and type = ?", name, kind)
    return found


def test_checks_have_their_points_and_answers_wait(
    course: Course, write: WriteBook, graded: Made, hand_in: HandIn, answered: Callable
):
    """As nbgrader does it: no automatic score is a score by hand to come."""
    lab = answered(why="Since x + x.", sketch="x = 1")
    written = write(graded(double=2.5), ada=hand_in(lab=lab))

    assert (written.submissions, written.faults) == (1, ())
    assert rows(course.root) == {
        "double": Row(2.5, None, None, waits=False),
        "Scale": Row(5.0, None, None, waits=False),
        "why": Row(None, None, None, waits=True),
        "sketch": Row(None, None, None, waits=True),
    }


def test_a_blank_answer_is_0_and_waits_for_nobody(
    course: Course, write: WriteBook, graded: Made, hand_in: HandIn, answered: Callable
):
    """And its comment says so in nbgrader's words."""
    write(graded(), ada=hand_in(lab=answered(sketch="x = 1")))
    comments = query(
        course.root,
        "select base_cell.name, auto_comment from comment join base_cell"
        " on base_cell.id = comment.cell_id order by 1",
    )

    assert rows(course.root)["why"] == Row(0.0, None, None, waits=False)
    assert comments == [("sketch", None), ("why", "No response.")]


def test_answers_are_judged_as_nbgrader_judges_them(
    course: Course, write: WriteBook, graded: Made, hand_in: HandIn, answered: Callable, book
):
    """Its own step, run over the notebook that was written, changes no row of theirs."""
    write(graded(), ada=hand_in(lab=answered(sketch="x = 1")))
    theirs = dict(rows(course.root).items())
    path = course.root / "autograded" / "ada" / STAGE / "lab.ipynb"
    facts = {"notebook": "lab", "assignment": STAGE, "student": "ada"}
    url = str(book.engine.url)
    SaveAutoGrades().preprocess(nbformat.read(path, 4), {"nbgrader": {**facts, "db_url": url}})

    assert {name: rows(course.root)[name] for name in ("why", "sketch")} == {
        name: theirs[name] for name in ("why", "sketch")
    }


def test_what_was_given_by_hand_stays(course: Course, write: WriteBook, graded: Made):
    """Score and extra credit survive, and the new points ask to be looked at."""
    write(graded(double=0))
    query(course.root, GIVEN_BY_HAND, 4.0, 1.5, cell_id(course.root, "double"))
    query(course.root, GIVEN_BY_HAND, 3.0, None, cell_id(course.root, "why"))
    query(course.root, "update comment set manual_comment = 'Well done!'")
    write(graded(double=2.5))

    assert rows(course.root)["double"] == Row(2.5, 4.0, 1.5, waits=True)
    assert rows(course.root)["why"] == Row(0.0, 3.0, None, waits=True)
    assert set(query(course.root, "select manual_comment from comment")) == {("Well done!",)}


def test_who_the_student_is_stays(course: Course, write: WriteBook, graded: Made, book: Gradebook):
    """Names come from the instructor, and no grading takes them away."""
    book.update_or_create_student("ada", first_name="Ada", last_name="L", email="a@example.org")
    write(graded())

    assert query(course.root, "select id, first_name, last_name, email from student") == [
        ("ada", "Ada", "L", "a@example.org")
    ]


def test_a_student_who_is_new_gets_a_row(course: Course, write: WriteBook, graded: Made):
    """As `nbgrader autograde` makes one."""
    write(graded("ada"), graded("o'hara, \N{PARTY POPPER}"))

    assert query(course.root, "select id from student order by id") == [
        ("ada",), ("o'hara, \N{PARTY POPPER}",),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("2026-11-01 10:00:00 UTC", dt.datetime(2026, 11, 1, 10), id="utc"),  # noqa: DTZ001  # nbgrader keeps UTC without a zone
        pytest.param(
            "2026-11-01 10:00:00 America/Los_Angeles",
            dt.datetime(2026, 11, 1, 18),  # noqa: DTZ001  # likewise
            id="place",
        ),
        pytest.param("2026-11-01T10:00:00+01:00", dt.datetime(2026, 11, 1, 9), id="iso"),  # noqa: DTZ001  # likewise
        pytest.param("", None, id="empty"),
        pytest.param("yesterday", None, id="words"),
        pytest.param("9" * 100, None, id="digits"),
        pytest.param("2026-13-45 99:99:99 UTC", None, id="no-such-day"),
        pytest.param("0001-01-01 00:00:00 Asia/Tokyo", None, id="before-all-time"),
        pytest.param("2026-11-01 10:00:00 999999999999", None, id="far-off-zone"),
        pytest.param("\0", None, id="nul"),
        pytest.param("2026-11-01 10:00:00 /usr/share/zoneinfo/UTC", None, id="path-of-a-file"),
        pytest.param("2026-11-01 10:00:00 ../../../etc/passwd", None, id="path-of-another-file"),
    ],
)
def test_a_moment_is_read_as_nbgrader_reads_it(text: str, expected: dt.datetime | None):
    """What is none is no moment, and never an error."""
    found = moment(text)

    assert found == expected


@settings(deadline=None, max_examples=200)  # a busy machine is no bug
@given(
    st.text(max_size=40)
    | st.lists(st.sampled_from([*"0123456789-:/., +TZ", " UTC", "2026", "am", "Mon", "May", "h"]))
    .map("".join)
)  # fmt: skip
def test_any_text_is_a_moment_or_none(text: str):
    """A student may have written it."""
    found = moment(text)

    assert found is None or found.tzinfo is None
