"""Records on their way into nbgrader: each student's whole or not at all, and none another's."""

import json
import math
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import nbformat
import pytest
import sqlalchemy
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy.engine import Engine

from autograder.course import Course
from autograder.errors import CourseError, UsageError
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.writer import Writer
from autograder.results import Status
from autograder.submission import Submission
from autograder.submission.files import HandInFile, UnusableFile
from tests.kit.conftest import SOLUTION
from tests.kit.gradebook.conftest import (
    CELLS,
    CONFIG,
    POINTS,
    SCHEME,
    STAGE,
    HandIn,
    Made,
    Row,
    WriteBook,
    WriteLab,
    autograded,
    by_name,
    cell,
    dump,
    exercise,
    named,
    names,
    query,
    record,
    rows,
)

DUE = "2026-11-01 10:00:00.000000"
LATE = b"2026-11-01 12:00:00 UTC"
ZERO = 'c.LateSubmissionPlugin.penalty_method = "zero"\n'
PLUGIN = """
from nbgrader.plugins import LateSubmissionPlugin

class Late(LateSubmissionPlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        {body}

c.AssignLatePenalties.plugin_class = Late
"""


@pytest.fixture
def commits() -> Iterator[list[int]]:
    """Count what is committed while a test runs."""
    counted: list[int] = []

    def count(_connection: object) -> None:
        counted.append(1)

    sqlalchemy.event.listen(Engine, "commit", count)
    yield counted
    sqlalchemy.event.remove(Engine, "commit", count)


@pytest.fixture
def due(course: Course) -> None:
    """Set a due date, as an instructor does in formgrader."""
    query(course.root, "update assignment set duedate = ?", DUE)


def configured(course: Course, more: str) -> None:
    """Add lines to the course's nbgrader_config.py."""
    (course.root / "nbgrader_config.py").write_text(CONFIG + more, "utf-8")


def penalties(root: Path) -> dict[str, float | None]:
    """Late penalties by student."""
    told = query(
        root,
        "select student_id, late_submission_penalty from submitted_notebook join"
        " submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id",
    )
    return dict(told)


def lab_of(root: Path, student: str = "ada") -> dict:
    """The notebook that formgrader shows of *student*, once nbformat and nbgrader accept it."""
    node = nbformat.reads(autograded(root, student)["lab.ipynb"].decode(), 4)
    nbformat.validate(node)
    MetadataValidator().validate_nb(node)
    return node


def texts(lab: dict) -> str:
    """All that the cards in *lab* say."""
    return "\n".join(
        output["data"]["text/plain"] for item in lab["cells"] for output in item.get("outputs", ())
    )


def test_each_student_is_one_commit(write: WriteBook, graded: Made, commits: list[int]):
    """Two more students are two more commits, whatever opening the gradebook takes."""
    counts = []
    for class_ in ("ada",), ("ada", "bob", "cy"), ("ada", "bob", "cy"):
        commits.clear()
        write(*map(graded, class_))
        counts.append(len(commits))

    assert [count - counts[0] for count in counts] == [0, 2, 2]


def test_formgrader_finds_cards_module_and_time(
    course: Course, write: WriteBook, graded: Made, hand_in: HandIn, answered: Callable
):
    """A valid notebook, read-only files, and nothing else."""
    handed = hand_in(lab=answered(why="Since x + x."), stamp=LATE + b"\n")
    write(graded(double=2.5), ada=handed)
    files, lab = autograded(course.root), lab_of(course.root)

    assert set(files) == {"lab.ipynb", "tiny.py", "timestamp.txt"}
    assert (files["tiny.py"], files["timestamp.txt"]) == (SOLUTION.encode(), LATE)
    assert by_name(lab)["why"]["source"] == "Since x + x."
    assert "double: in progress. 2.5 of 5 points." in texts(lab)
    assert {path.stat().st_mode & 0o777 for path in course.root.glob("autograded/ada/*/*")} == {
        0o444
    }


def test_what_stood_there_is_replaced_whole(course: Course, write: WriteBook, graded: Made):
    """No file of an earlier hand-in is left, and no draft of ours."""
    write(graded())
    folder = course.root / "autograded" / "ada" / STAGE
    (folder / "old.txt").write_text("stale")
    write(graded())

    assert set(autograded(course.root)) == {"lab.ipynb", "tiny.py"}
    assert [path.name for path in folder.parent.iterdir()] == [STAGE]


def test_grading_again_changes_nothing(course: Course, write: WriteBook, graded: Made):
    """Neither a row nor a byte."""
    write(graded("ada", double=2.5), graded("bob"))
    before = dump(course.root), autograded(course.root)
    write(graded("ada", double=2.5), graded("bob"))

    assert (dump(course.root), autograded(course.root)) == before


@pytest.mark.parametrize(
    "score",
    [
        pytest.param(math.nan, id="nan"),
        pytest.param(math.inf, id="infinite"),
        pytest.param(-math.inf, id="minus-infinite"),
        pytest.param(-1.0, id="negative"),
        pytest.param(7.0, id="7-of-5"),
        pytest.param(5.000001, id="a-little-more"),
    ],
)
def test_no_forged_score_is_written(course: Course, write: WriteBook, graded: Made, score: float):
    """That student keeps what was there; the others are written."""
    write(graded("ada", double=2.5))
    before = rows(course.root), autograded(course.root)
    written = write(graded("ada", double=score), graded("bob"))

    assert written.submissions == 1
    assert written.faults[0].startswith(f"ada {STAGE}: double: {score} is no score between 0 and 5")
    assert (rows(course.root), autograded(course.root)) == before
    assert rows(course.root, "bob")["double"].auto == 5.0


def test_an_exercise_without_a_cell_is_a_fault(course: Course, write: WriteBook):
    """Points that no cell can keep are not dropped in silence."""
    most = {**POINTS, "triple": 5.0}
    written = write(record("ada", tuple(exercise(name, 5.0, 5.0) for name in most)))

    assert "has no grade cell for triple" in written.faults[0]
    assert rows(course.root) == {}
    assert query(course.root, "select * from student") == []


def test_a_failure_of_the_grader_keeps_the_older_grade(
    course: Course, write: WriteBook, graded: Made
):
    """No grade is no zero."""
    write(graded(double=2.5))
    before = dump(course.root), autograded(course.root)
    failed = record("ada", (), status=Status.GRADER_ERROR, score=None, message="Our bug.")
    written = write(failed)

    assert written.faults == (f"ada {STAGE}: ada, {STAGE}: Our bug.",)
    assert (dump(course.root), autograded(course.root)) == before


def test_a_submission_of_no_stage_is_a_fault(write: WriteBook, hand_in: HandIn, graded: Made):
    """With its own sentence."""
    lost = hand_in(stage="", module=None, problem="Nothing to grade: it is empty.")
    nothing = record("ada", (), stage="", status=Status.UNREADABLE)

    assert write(nothing, graded("bob"), ada=lost).faults == (
        "ada: Nothing to grade: it is empty.",
    )


def test_nothing_to_judge_is_0_everywhere(course: Course, write: WriteBook, hand_in: HandIn):
    """The lab says why."""
    words = "No tiny.py was handed in: it is empty."
    empty = hand_in(module=None, problem=words)
    result = record("ada", (), status=Status.UNREADABLE, message=words)
    write(result, ada=empty)

    assert set(rows(course.root).values()) == {Row(0.0, None, None, waits=False)}
    assert texts(lab_of(course.root)).count(words) == 3


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param(None, "No notebook was handed in", id="module-alone"),
        pytest.param(b'{"cells": [', "its JSON can't be read", id="damaged"),
        pytest.param(b"", "its JSON can't be read", id="empty"),
    ],
)
def test_a_module_counts_without_a_readable_lab(
    course: Course, write: WriteBook, graded: Made, hand_in: HandIn, data: bytes | None, says: str
):
    """Its points stand; written answers are missing, and the lab says so."""
    write(graded(double=2.5), ada=hand_in(lab=data))
    lab = lab_of(course.root)

    assert {name: row.auto for name, row in rows(course.root).items()} == {
        "double": 2.5, "Scale": 5.0, "why": 0.0, "sketch": 0.0,
    }  # fmt: skip
    assert says in texts(lab)
    assert "the written answers count as missing" in texts(lab)


def test_a_lab_that_can_not_be_opened_is_missing(
    course: Course, write: WriteBook, graded: Made, hand_in: HandIn
):
    """A link, a device, a file without rights: the sentence about it is shown."""

    def refuse(_limit: int) -> bytes:
        msg = "lab.ipynb is a link and was not opened."
        raise UnusableFile(msg)

    linked = HandInFile(path=Path("lab.ipynb"), label="lab.ipynb", read=refuse)
    written = write(graded(), ada=hand_in().__class__(**fields_of(hand_in(), lab=linked)))

    assert written.faults == ()
    assert "lab.ipynb is a link and was not opened." in texts(lab_of(course.root))


def fields_of(submission: Submission, **changed: object) -> dict:
    """The fields of *submission*, some of them changed."""
    return {name: getattr(submission, name) for name in submission.__struct_fields__} | changed


def test_the_mark_scheme_is_the_instructors_to_read(
    course: Course, write: WriteBook, graded: Made, hand_in: HandIn, answered: Callable
):
    """Formgrader shows it beside the answer; students never had it."""
    handed = answered(why="x")
    write(graded(), ada=hand_in(lab=handed))

    assert SCHEME in json.dumps(lab_of(course.root))
    assert SCHEME.encode() not in handed


@pytest.mark.parametrize(
    ("stamp", "kept"),
    [
        pytest.param(b"2026-10-31 09:00:00 UTC", "2026-10-31 09:00:00.000000", id="utc"),
        pytest.param(b"\xff\xfe broken", None, id="bytes"),
        pytest.param(b"", None, id="empty"),
        pytest.param(b"soon", None, id="words"),
        pytest.param(None, None, id="none"),
    ],
)
def test_the_time_of_handing_in_is_kept(
    course: Course, write: WriteBook, graded: Made, hand_in: HandIn,
    stamp: bytes | None, kept: str | None,
):  # fmt: skip
    """As far as it is one; a broken one keeps nobody from a grade."""
    written = write(graded(), ada=hand_in(stamp=stamp))

    assert written.faults == ()
    assert query(course.root, "select timestamp from submitted_assignment") == [(kept,)]


def test_a_time_that_is_known_stays(
    course: Course, write: WriteBook, graded: Made, hand_in: HandIn
):
    """Where none comes with the next hand-in."""
    write(graded(), ada=hand_in(stamp=LATE))
    write(graded(), ada=hand_in(stamp=b"soon"))

    assert query(course.root, "select timestamp from submitted_assignment") == [
        ("2026-11-01 12:00:00.000000",)
    ]


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
    course: Course, write: WriteBook, graded: Made, hand_in: HandIn,
    more: str, stamp: bytes | None, penalty: float | None,
):  # fmt: skip
    """The plugin of nbgrader or one of nbgrader_config.py, within what was earned."""
    configured(course, more)
    write(graded(double=2.5), ada=hand_in(stamp=stamp))

    assert penalties(course.root) == {"ada": penalty}


@pytest.mark.usefixtures("due")
@pytest.mark.parametrize(
    "body", ["raise KeyError(student_id)", "return 'all of it'", "return [1]", "1 / 0"]
)
def test_a_plugin_that_fails_costs_one_sentence(
    course: Course, write: WriteBook, graded: Made, hand_in: HandIn, body: str
):
    """Nothing is written for who is late; who is in time is served."""
    configured(course, PLUGIN.format(body=body))
    written = write(graded("ada"), graded("bob"), ada=hand_in("ada", stamp=LATE))

    assert written.submissions == 1
    assert "The late plugin Late failed: " in written.faults[0]
    assert (rows(course.root, "ada"), len(rows(course.root, "bob"))) == ({}, 4)


@pytest.mark.usefixtures("due")
def test_an_extension_lifts_the_penalty(
    course: Course, write: WriteBook, graded: Made, hand_in: HandIn
):
    """At the next grading, as in nbgrader."""
    configured(course, ZERO)
    write(graded(), ada=hand_in(stamp=LATE))
    before = penalties(course.root)
    with Gradebook(f"sqlite:///{course.root / 'gradebook.db'}", course.id) as book:
        book.grant_extension(STAGE, "ada", hours=3)
    write(graded(), ada=hand_in(stamp=LATE))

    assert (before, penalties(course.root)) == ({"ada": 10.0}, {"ada": None})


@pytest.mark.usefixtures("due")
def test_the_penalty_is_nbgraders(course: Course, write: WriteBook, graded: Made, hand_in: HandIn):
    """Its own step, run afterwards, finds the same; scores by hand and extra credit count."""
    configured(course, ZERO)
    write(graded(double=2.5), ada=hand_in(stamp=LATE))
    query(course.root, "update grade set manual_score = 1, extra_credit = 0.5")
    write(graded(double=2.5), ada=hand_in(stamp=LATE))
    ours = penalties(course.root)
    facts = {"notebook": "lab", "assignment": STAGE, "student": "ada"}
    url = f"sqlite:///{course.root / 'gradebook.db'}"
    step = AssignLatePenalties()
    step.config.LateSubmissionPlugin.penalty_method = "zero"
    step.preprocess(nbformat.v4.new_notebook(), {"nbgrader": {**facts, "db_url": url}})

    assert ours == {"ada": 6.0}
    assert penalties(course.root) == ours


def test_points_that_changed_are_followed(
    course: Course, write: WriteBook, graded: Made, write_lab: WriteLab
):
    """A lab built anew brings new limits; what was given by hand stays."""
    write(graded(double=2.5))
    query(course.root, "update grade set manual_score = 4 where auto_score = 2.5")
    write_lab(points={"double": 8.0, "Scale": 2.0})
    written = write(record("ada", (exercise("double", 8.0, 8.0), exercise("Scale", 1.0, 2.0))))

    assert written.faults == ()
    assert rows(course.root)["double"] == Row(8.0, 4.0, None, waits=True)
    assert rows(course.root)["Scale"].auto == 1.0
    assert max_scores(course.root)["double"] == 8.0


def test_a_suite_that_changed_under_its_lab_says_what_to_do(write: WriteBook, graded: Made):
    """The record has more points than the lab knows."""
    [fault] = write(graded(most=6.0)).faults

    assert fault.endswith("Run `autograder release`, then grade again.")


def max_scores(root: Path) -> dict[str, float]:
    """What each cell is worth, by name."""
    return dict(
        query(
            root,
            "select name, max_score from base_cell join grade_cells using (id) union"
            " select name, max_score from base_cell join task_cells using (id)",
        )
    )


TASK = cell("markdown", "Draw it.", "draw", task=True, locked=True, points=1)


def test_points_of_a_task_are_followed_too(
    course: Course, write: WriteBook, graded: Made, write_lab: WriteLab
):
    """No checksum of nbgrader's tells of them."""
    write_lab(*CELLS, TASK)
    write(graded())
    more = {**TASK, "metadata": {"nbgrader": {**TASK["metadata"]["nbgrader"], "points": 4}}}
    write_lab(*CELLS, more)
    write(graded())

    assert max_scores(course.root)["draw"] == 4.0


@pytest.mark.parametrize(
    ("with_lab", "row"),
    [
        pytest.param(True, Row(None, None, None, waits=True), id="with-a-lab"),
        pytest.param(False, Row(0.0, None, None, waits=False), id="without-a-lab"),
    ],
)
def test_a_task_waits_where_it_can_have_been_done(
    course: Course, write: WriteBook, graded: Made, hand_in: HandIn, write_lab: WriteLab,
    answered: Callable, *, with_lab: bool, row: Row,
):  # fmt: skip
    """Its answer may stand in any cell; without a notebook it stands in none."""
    write_lab(*CELLS, TASK)
    write(graded(), ada=hand_in(lab=answered() if with_lab else None))

    assert rows(course.root)["draw"] == row


OTHER = cell("markdown", "", "how", grade=True, solution=True, points=1)
SKETCHED = cell("code", "", "sketch", solution=True)
DRAWN = cell("markdown", "Draw it.", "sketch", task=True, locked=True, points=1)


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        pytest.param((*CELLS, OTHER), "how", id="added"),
        pytest.param(CELLS[:-1], "sketch", id="removed"),
        pytest.param((*CELLS[:-1], OTHER), "how, sketch", id="replaced"),
        pytest.param((*CELLS[:-1], SKETCHED), "sketch", id="no-longer-graded"),
        pytest.param((*CELLS[:-1], DRAWN), "sketch", id="of-another-kind"),
    ],
)
def test_other_cells_are_refused_once_there_are_submissions(
    course: Course, write: WriteBook, graded: Made, write_lab: WriteLab, cells: tuple, says: str
):
    """Grades would hang in the air, so the cells are named, and nothing is touched."""
    write(graded())
    before = dump(course.root)
    write_lab(*cells)

    with pytest.raises(UsageError, match=rf"already: {says}\. Put the cells back"):
        write(graded())
    assert dump(course.root) == before


def test_other_cells_are_welcome_before_anybody_handed_in(
    course: Course, write: WriteBook, graded: Made, write_lab: WriteLab
):
    """The old ones are forgotten."""
    write_lab(*CELLS[:-1], OTHER)
    write(graded())

    assert set(max_scores(course.root)) == {"double", "Scale", "why", "how"}
    assert set(rows(course.root)) == {"double", "Scale", "why", "how"}


def test_twins_are_refused(course: Course, graded: Made, write: WriteBook):
    """Nothing says which one counts."""
    with pytest.raises(UsageError, match=f"ada has 2 submissions of {STAGE}.*Name each place once"):
        write(graded("ada"), graded("ada"))
    assert rows(course.root) == {}


def test_a_stage_without_a_lab_is_refused_before_the_grading(course: Course, hand_in: HandIn):
    """Its points would have no cells."""
    course.stage(STAGE).lab.unlink()

    with pytest.raises(CourseError, match="is missing; nbgrader keeps the points"):
        Writer(course, [hand_in()])


def test_a_locked_gradebook_is_a_sentence(course: Course, graded: Made, write: WriteBook):
    """With what to look for."""
    book = f"sqlite:///{course.root / 'gradebook.db'}?timeout=0"
    configured(course, f"c.CourseDirectory.db_url = {book!r}\n")
    with closing(sqlite3.connect(course.root / "gradebook.db")) as other:
        other.execute("begin exclusive")

        with pytest.raises(UsageError, match=r"locked.*another program"):
            write(graded())


@pytest.mark.parametrize(
    "data", [pytest.param(b"hello" * 500, id="text"), pytest.param(b"SQLite format 3\0", id="cut")]
)
def test_what_is_no_gradebook_is_a_sentence(
    course: Course, graded: Made, write: WriteBook, data: bytes
):
    """And is left as it is."""
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
def test_settings_that_can_not_be_used_are_a_sentence(course: Course, hand_in: HandIn, more: str):
    """It names the file, before anything is graded."""
    configured(course, more)

    with pytest.raises(UsageError, match=r"nbgrader_config\.py can't be used: "):
        Writer(course, [hand_in()])


def test_a_course_without_settings_has_ours(course: Course, write: WriteBook, graded: Made):
    """nbgrader_config.py is for nbgrader's commands."""
    (course.root / "nbgrader_config.py").unlink()
    write(graded())

    assert rows(course.root)["double"].auto == 5.0


def test_a_gradebook_that_is_new_knows_its_stages(course: Course, hand_in: HandIn):
    """And says once which ones it was told of."""
    (course.root / "gradebook.db").unlink()
    first, again = Writer(course, [hand_in()]), Writer(course, [hand_in()])

    assert (first.registered, again.registered) == ((STAGE,), ())
    assert max_scores(course.root) == {**POINTS, "why": 3.0, "sketch": 2.0}


def test_nbgraders_own_command_registers_the_same(course: Course, template: Path):
    """What `nbgrader generate_assignment` tells the gradebook is what we tell it."""
    (course.root / "gradebook.db").unlink()
    done = NbGraderAPI(config=NbgraderSetup(course).config).generate_assignment(STAGE)

    assert done["success"], done
    assert told(course.root) == told(template)


def told(root: Path) -> list[list[tuple]]:
    """What the gradebook has been told of the lab, without keys."""
    return [
        sorted(query(root, sql), key=repr)
        for sql in (
            "select name, cell_type, source, locked, checksum from source_cell",
            "select name, type from base_cell",
            "select max_score, cell_type from grade_cells",
            "select name, duedate from assignment",
            "select name, kernelspec from notebook",
        )
    ]


def test_one_course_is_all_there_is(course: Course, write: WriteBook, graded: Made):
    """The steps of nbgrader itself leave a second one behind, of no name."""
    write(graded())

    assert query(course.root, "select id from course") == [("tiny",)]


def test_a_full_disk_costs_one_student(
    course: Course, write: WriteBook, graded: Made, monkeypatch: pytest.MonkeyPatch
):
    """Neither rows nor files of theirs are half there."""
    write(graded("ada", double=2.5))
    before = rows(course.root), autograded(course.root)
    real = Path.write_bytes

    def write_bytes(self: Path, data: bytes) -> int:
        if b"6 of 6" in data or "/ada/" in str(self):
            raise OSError(28, "No space left on device")
        return real(self, data)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    written = write(graded("ada"), graded("bob"))
    monkeypatch.undo()

    assert written.faults == (f"ada {STAGE}: [Errno 28] No space left on device",)
    assert (rows(course.root), autograded(course.root)) == before
    assert rows(course.root, "bob")["double"].auto == 5.0


def test_the_order_of_the_lab_is_kept(course: Course, write: WriteBook, graded: Made):
    """So that formgrader reads as the lab does."""
    write(graded())

    assert names(lab_of(course.root)) == [named(item) for item in CELLS if named(item)]
