"""Tests one student's rows in the gradebook: those that the kit sets, and those that it keeps."""

from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.preprocessors import AssignLatePenalties, SaveAutoGrades

from autograder.course import Course
from tests.kit.factories import (
    LATE,
    STAGE,
    Made,
    Row,
    StudentWork,
    WriteBook,
    add_settings,
    query,
    rows,
)

GIVEN_BY_HAND = "update grade set manual_score = ?, extra_credit = ? where cell_id = ?"


@pytest.fixture
def book(course: Course) -> Iterator[Gradebook]:
    """The gradebook, opened by nbgrader itself."""
    with Gradebook(f"sqlite:///{course.root / 'gradebook.db'}", course.id) as opened:
        yield opened


def cell_id(root: Path, name: str, kind: str = "GradeCell") -> str:
    """The key of a cell in nbgrader's tables."""
    [(found,)] = query(root, "select id from base_cell where name = ? and type = ?", name, kind)
    return found


def test_checks_have_their_points_and_answers_wait(
    course: Course, write: WriteBook, graded: Made, work: StudentWork, answered: Callable
):
    """As in nbgrader, an answer without an automatic score waits to be graded by hand."""
    lab = answered(why="Since x + x.", sketch="x = 1")
    written = write(graded(double=2.5), ada=work(lab=lab))

    assert (written.submissions, written.faults) == (1, ())
    assert rows(course.root) == {
        "double": Row(2.5, None, None, waits=False),
        "Scale": Row(5.0, None, None, waits=False),
        "why": Row(None, None, None, waits=True),
        "sketch": Row(None, None, None, waits=True),
    }


def test_a_blank_answer_is_0_and_does_not_wait(
    course: Course, write: WriteBook, graded: Made, work: StudentWork, answered: Callable
):
    """A blank answer has 0 points and nbgrader's comment, and does not wait."""
    write(graded(), ada=work(lab=answered(sketch="x = 1")))
    comments = query(
        course.root,
        "select base_cell.name, auto_comment from comment join base_cell"
        " on base_cell.id = comment.cell_id order by 1",
    )

    assert rows(course.root)["why"] == Row(0.0, None, None, waits=False)
    assert comments == [("sketch", None), ("why", "No response.")]


def test_answers_are_graded_as_nbgrader_grades_them(
    course: Course, write: WriteBook, graded: Made, work: StudentWork, answered: Callable, book
):
    """Nbgrader's own step on the written notebook changes no row of an answer."""
    write(graded(), ada=work(lab=answered(sketch="x = 1")))
    before = rows(course.root)
    path = course.root / "autograded" / "ada" / STAGE / "lab.ipynb"
    facts = {"notebook": "lab", "assignment": STAGE, "student": "ada"}
    url = str(book.engine.url)
    SaveAutoGrades().preprocess(nbformat.read(path, 4), {"nbgrader": {**facts, "db_url": url}})

    assert {name: rows(course.root)[name] for name in ("why", "sketch")} == {
        name: before[name] for name in ("why", "sketch")
    }


def test_manual_scores_stay(course: Course, write: WriteBook, graded: Made):
    """Score, extra credit and comment stay, and formgrader asks to review what changed."""
    write(graded(double=0))
    query(course.root, GIVEN_BY_HAND, 4.0, 1.5, cell_id(course.root, "double"))
    query(course.root, GIVEN_BY_HAND, 3.0, None, cell_id(course.root, "why"))
    query(course.root, "update comment set manual_comment = 'Well done!'")
    write(graded(double=2.5))

    assert rows(course.root)["double"] == Row(2.5, 4.0, 1.5, waits=True)
    assert rows(course.root)["why"] == Row(0.0, 3.0, None, waits=False)
    assert set(query(course.root, "select manual_comment from comment")) == {("Well done!",)}


def test_a_students_name_stays(course: Course, write: WriteBook, graded: Made, book: Gradebook):
    """Names come from the instructor, and grading does not change them."""
    book.update_or_create_student("ada", first_name="Ada", last_name="L", email="a@example.org")
    write(graded())

    assert query(course.root, "select id, first_name, last_name, email from student") == [
        ("ada", "Ada", "L", "a@example.org")
    ]


def test_a_new_student_gets_a_row(course: Course, write: WriteBook, graded: Made):
    """A student without a row gets one, as with `nbgrader autograde`."""
    write(graded("ada"), graded("o'hara, \N{PARTY POPPER}"))

    assert query(course.root, "select id from student order by id") == [
        ("ada",), ("o'hara, \N{PARTY POPPER}",),
    ]  # fmt: skip


def test_an_earlier_time_stays(course: Course, write: WriteBook, graded: Made, work: StudentWork):
    """An earlier time stays if the next submission has none."""
    write(graded(), ada=work(stamp=LATE))
    write(graded(), ada=work(stamp=b"soon"))

    assert query(course.root, "select timestamp from submitted_assignment") == [
        ("2026-11-01 12:00:00.000000",)
    ]


DUE = "2026-11-01 10:00:00.000000"


ZERO = 'c.LateSubmissionPlugin.penalty_method = "zero"\n'


PLUGIN = """
from nbgrader.plugins import LateSubmissionPlugin

class Late(LateSubmissionPlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        {body}

c.AssignLatePenalties.plugin_class = Late
"""


@pytest.fixture
def due(course: Course) -> None:
    """Set a due date, as an instructor does in formgrader."""
    query(course.root, "update assignment set duedate = ?", DUE)


def penalties(root: Path) -> dict[str, float | None]:
    """Late penalties by student."""
    found = query(
        root,
        "select student_id, late_submission_penalty from submitted_notebook join"
        " submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id",
    )
    return dict(found)


@pytest.mark.usefixtures("due")
@pytest.mark.parametrize(
    ("more", "stamp", "penalty"),
    [
        pytest.param("", LATE, None, id="none-by-default"),
        pytest.param(ZERO, LATE, 7.5, id="zero-takes-all"),
        pytest.param(ZERO, b"2026-11-01 09:59:59 UTC", None, id="in-time"),
        pytest.param(ZERO, None, None, id="time-unknown"),
        pytest.param(PLUGIN.format(body="return total_seconds_late / 3600"), LATE, 2.0, id="own"),
        pytest.param(PLUGIN.format(body="return 99"), LATE, 7.5, id="more-than-there-is"),
        pytest.param(PLUGIN.format(body="return -3"), LATE, 0.0, id="less-than-nothing"),
        pytest.param(PLUGIN.format(body="return None"), LATE, None, id="none"),
    ],
)
def test_lateness_costs_what_the_plugin_says(
    course: Course, write: WriteBook, graded: Made, work: StudentWork,
    more: str, stamp: bytes | None, penalty: float | None,
):  # fmt: skip
    """A plugin of nbgrader or of the course sets the penalty, which is at most the points."""
    add_settings(course, more)
    write(graded(double=2.5), ada=work(stamp=stamp))

    assert penalties(course.root) == {"ada": penalty}


@pytest.mark.usefixtures("due")
@pytest.mark.parametrize(
    "body", ["raise KeyError(student_id)", "return 'all of it'", "return [1]", "1 / 0"]
)
def test_a_failing_plugin_is_reported(
    course: Course, write: WriteBook, graded: Made, work: StudentWork, body: str
):
    """A plugin that fails for a late student is reported, and the other is written."""
    add_settings(course, PLUGIN.format(body=body))
    written = write(graded("ada"), graded("bob"), ada=work("ada", stamp=LATE))

    assert written.submissions == 1
    assert "The late plugin Late failed: " in written.faults[0]
    assert (rows(course.root, "ada"), len(rows(course.root, "bob"))) == ({}, 4)


@pytest.mark.usefixtures("due")
def test_an_extension_removes_the_penalty(
    course: Course, write: WriteBook, graded: Made, work: StudentWork
):
    """An extension removes the penalty at the next grading, as in nbgrader."""
    add_settings(course, ZERO)
    write(graded(), ada=work(stamp=LATE))
    before = penalties(course.root)
    with Gradebook(f"sqlite:///{course.root / 'gradebook.db'}", course.id) as book:
        book.grant_extension(STAGE, "ada", hours=3)
    write(graded(), ada=work(stamp=LATE))

    assert (before, penalties(course.root)) == ({"ada": 10.0}, {"ada": None})


@pytest.mark.usefixtures("due")
def test_the_penalty_is_nbgraders(
    course: Course, write: WriteBook, graded: Made, work: StudentWork
):
    """Nbgrader's own step computes the same totals, with manual scores and extra credit."""
    add_settings(course, ZERO)
    write(graded(double=2.5), ada=work(stamp=LATE))
    query(course.root, "update grade set manual_score = 1, extra_credit = 0.5")
    write(graded(double=2.5), ada=work(stamp=LATE))
    ours = penalties(course.root)
    facts = {"notebook": "lab", "assignment": STAGE, "student": "ada"}
    url = f"sqlite:///{course.root / 'gradebook.db'}"
    step = AssignLatePenalties()
    step.config.LateSubmissionPlugin.penalty_method = "zero"
    step.preprocess(nbformat.v4.new_notebook(), {"nbgrader": {**facts, "db_url": url}})

    assert ours == {"ada": 6.0}
    assert penalties(course.root) == ours


@pytest.mark.parametrize(
    ("again", "waits"),
    [
        pytest.param({"why": "Since x + x."}, False, id="the-same-text"),
        pytest.param({"why": "Since x + x.", "sketch": "y = 2"}, False, id="another-answer"),
        pytest.param({"why": "By luck."}, True, id="another-text"),
    ],
)
def test_a_manual_score_is_reviewed_again_if_the_answer_changed(
    course: Course,
    write: WriteBook,
    graded: Made,
    work: StudentWork,
    answered,
    again,
    *,
    waits: bool,
):
    """A new grade for the code does not require a second review of an unchanged answer."""
    write(graded(double=0), ada=work(lab=answered(why="Since x + x.")))
    by_hand = "update grade set manual_score = 2, needs_manual_grade = 0 where cell_id = ?"
    query(course.root, by_hand, cell_id(course.root, "why"))
    write(graded(double=5), ada=work(lab=answered(**again)))

    assert rows(course.root)["why"] == Row(None, 2.0, None, waits=waits)


def test_a_review_that_is_due_stays_due(
    course: Course, write: WriteBook, graded: Made, work: StudentWork, answered
):
    """A review that is due stays due after another grading."""
    write(graded(), ada=work(lab=answered(why="Since x + x.")))
    by_hand = "update grade set manual_score = 2, needs_manual_grade = 1 where cell_id = ?"
    query(course.root, by_hand, cell_id(course.root, "why"))
    write(graded(), ada=work(lab=answered(why="Since x + x.")))

    assert rows(course.root)["why"].waits


def test_other_code_is_reviewed_although_it_earns_the_same(
    course: Course, write: WriteBook, graded: Made, work: StudentWork
):
    """A manual score of an exercise needs a review if the code has changed."""
    write(graded())
    query(course.root, "update grade set manual_score = 4, needs_manual_grade = 0")
    write(graded())
    before = rows(course.root)["double"].waits
    write(graded(), ada=work(module=b"def double(x):\n    return x + x\n"))

    assert (before, rows(course.root)["double"].waits) == (False, True)
