"""Tests storing one submission in the gradebook: its points, its notebook, its timestamp."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.results import Status
from autograder.submission import Submission
from autograder.submission.files import SubmittedFile, UnusableFile
from tests.kit.factories import (
    CELLS,
    POINTS,
    SCHEME,
    STAGE,
    TASK,
    Made,
    Row,
    StudentWork,
    WriteBook,
    WriteLab,
    autograded,
    dump,
    exercise,
    file_of,
    lab_of,
    output_texts,
    query,
    record,
    rows,
)


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
    """After a forged score, that student's rows and files stay, and the others are written."""
    write(graded("ada", double=2.5))
    before = rows(course.root), autograded(course.root)
    written = write(graded("ada", double=score), graded("bob"))

    assert written.submissions == 1
    assert written.faults[0].startswith(
        f"ada {STAGE}: double: {score} is not a score between 0 and 5"
    )
    assert (rows(course.root), autograded(course.root)) == before
    assert rows(course.root, "bob")["double"].auto == 5.0


def test_an_exercise_without_a_cell_is_a_fault(course: Course, write: WriteBook):
    """Points without a cell are reported, not dropped."""
    most = {**POINTS, "triple": 5.0}
    written = write(record("ada", tuple(exercise(name, 5.0, 5.0) for name in most)))

    assert "has no grade cell for triple" in written.faults[0]
    assert rows(course.root) == {}
    assert query(course.root, "select * from student") == []


def test_a_failure_of_the_grader_keeps_the_older_grade(
    course: Course, write: WriteBook, graded: Made
):
    """An error of the grader keeps the older grade and does not replace it with 0."""
    write(graded(double=2.5))
    before = dump(course.root), autograded(course.root)
    failed = record("ada", (), status=Status.GRADER_ERROR, score=None, message="Our bug.")
    written = write(failed)

    assert written.faults == (f"ada {STAGE}: ada, {STAGE}: Our bug.",)
    assert (dump(course.root), autograded(course.root)) == before


def test_nothing_to_grade_waits_for_a_grade_by_hand(
    course: Course, write: WriteBook, work: StudentWork
):
    """Without readable code, exercises have no score and wait, and the lab gives the reason."""
    message = "No tiny.py was submitted: it is empty."
    empty = work(module=None, problem=message)
    result = record("ada", (), status=Status.UNREADABLE, message=message)
    write(result, ada=empty)

    found = rows(course.root)
    assert {found.pop(name) for name in POINTS} == {Row(None, None, None, waits=True)}
    assert set(found.values()) == {Row(0.0, None, None, waits=False)}
    assert output_texts(lab_of(course.root)).count(message) == 3


@pytest.mark.parametrize(
    ("data", "points", "says"),
    [
        pytest.param(None, 0.0, "No notebook was submitted", id="module-alone"),
        pytest.param(b'{"cells": [', None, "its JSON can't be read", id="damaged"),
        pytest.param(b"", None, "its JSON can't be read", id="empty"),
    ],
)
def test_a_module_counts_without_a_readable_lab(
    course: Course,
    write: WriteBook,
    graded: Made,
    work: StudentWork,
    data: bytes | None,
    points: float | None,
    says: str,
):
    """A module counts without a lab, whose answers are missing or wait; the lab states this."""
    write(graded(double=2.5), ada=work(lab=data))
    lab = lab_of(course.root)

    assert {name: row.auto for name, row in rows(course.root).items()} == {
        "double": 2.5, "Scale": 5.0, "why": points, "sketch": points,
    }  # fmt: skip
    assert says in output_texts(lab)
    waits = points is None
    assert ("written answers wait to be graded by hand" in output_texts(lab)) is waits
    assert ("the written answers count as missing" in output_texts(lab)) is not waits


def test_a_lab_that_cannot_be_opened_is_missing(
    course: Course, write: WriteBook, graded: Made, work: StudentWork
):
    """For a link, a device, or a file without rights, the lab shows the reason."""

    def refuse(_limit: int) -> bytes:
        msg = "lab.ipynb is a link and was not opened."
        raise UnusableFile(msg)

    linked = SubmittedFile(path=Path("lab.ipynb"), label="lab.ipynb", read=refuse)
    written = write(graded(), ada=work().__class__(**fields_of(work(), lab=linked)))

    assert written.faults == ()
    assert "lab.ipynb is a link and was not opened." in output_texts(lab_of(course.root))


def fields_of(submission: Submission, **changed: object) -> dict:
    """The fields of *submission*, some of them changed."""
    return {name: getattr(submission, name) for name in submission.__struct_fields__} | changed


def test_only_the_instructor_sees_the_mark_scheme(
    course: Course, write: WriteBook, graded: Made, work: StudentWork, answered: Callable
):
    """Formgrader's lab has the mark scheme, and the student's lab does not."""
    handed = answered(why="x")
    write(graded(), ada=work(lab=handed))

    assert SCHEME in json.dumps(lab_of(course.root))
    assert SCHEME.encode() not in handed


def test_a_suite_that_changed_under_its_lab_says_what_to_do(write: WriteBook, graded: Made):
    """A suite with more points than the lab's cells is refused with the command to run."""
    [fault] = write(graded(most=6.0)).faults

    assert fault.endswith("Run `autograder release`, then grade again.")


@pytest.mark.parametrize(
    ("with_lab", "row"),
    [
        pytest.param(True, Row(None, None, None, waits=True), id="with-a-lab"),
        pytest.param(False, Row(0.0, None, None, waits=False), id="without-a-lab"),
    ],
)
def test_a_task_waits_if_there_is_a_notebook(
    course: Course, write: WriteBook, graded: Made, work: StudentWork, write_lab: WriteLab,
    answered: Callable, *, with_lab: bool, row: Row,
):  # fmt: skip
    """An answer to a task may be in any cell; without a notebook there is none."""
    write_lab(*CELLS, TASK)
    write(graded(), ada=work(lab=answered() if with_lab else None))

    assert rows(course.root)["draw"] == row


@pytest.mark.parametrize(
    ("stamp", "kept"),
    [
        pytest.param(b"2026-10-31 09:00:00 UTC", "2026-10-31 09:00:00.000000", id="utc"),
        pytest.param(
            b"\xef\xbb\xbf2026-10-31 09:00:00 UTC\r\n", "2026-10-31 09:00:00.000000", id="windows"
        ),
        pytest.param(
            "2026-10-31 09:00 UTC".encode("utf-16"), "2026-10-31 09:00:00.000000", id="utf-16"
        ),
        pytest.param(
            "2026-10-31 09:00 UTC".encode("utf-16-le"), "2026-10-31 09:00:00.000000", id="no-mark"
        ),
        pytest.param(b"2026-10-31 00:30 +0100", "2026-10-30 23:30:00.000000", id="offset"),
        pytest.param(b"\xff\xfe broken", None, id="bytes"),
        pytest.param(b"", None, id="empty"),
        pytest.param(b"soon", None, id="words"),
        pytest.param(None, None, id="none"),
    ],
)
def test_the_time_of_submission_is_kept(
    course: Course, write: WriteBook, graded: Made, work: StudentWork,
    stamp: bytes | None, kept: str | None,
):  # fmt: skip
    """A time that can't be read is ignored, and the submission is graded."""
    written = write(graded(), ada=work(stamp=stamp))

    assert written.faults == ()
    assert query(course.root, "select timestamp from submitted_assignment") == [(kept,)]


@pytest.mark.parametrize(
    ("secret", "kept"),
    [
        pytest.param(b"0a1b", b"0a1b", id="nbgraders"),
        pytest.param(b"\xff", "\N{REPLACEMENT CHARACTER}".encode(), id="not-utf-8"),
        pytest.param(None, None, id="none"),
    ],
)
def test_the_secret_of_a_submission_is_carried(
    course: Course, write: WriteBook, graded: Made, work: StudentWork,
    secret: bytes | None, kept: bytes | None,
):  # fmt: skip
    """The timestamp is stored in the text form that `nbgrader release_feedback` reads."""
    write(graded(), ada=work(secret=file_of("submission_secret.txt", secret)))

    assert autograded(course.root).get("submission_secret.txt") == kept
