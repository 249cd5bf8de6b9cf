"""Tests that results are written to nbgrader for each student completely, or not at all."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy.engine import Engine

from autograder.course import Course
from autograder.errors import CourseError, UsageError
from autograder.gradebook.writer import Writer
from autograder.results import Status
from tests.kit.factories import (
    CELLS,
    LATE,
    SOLUTION,
    STAGE,
    Made,
    StudentWork,
    WriteBook,
    WriteLab,
    add_settings,
    autograded,
    by_name,
    dump,
    exercise,
    lab_of,
    named,
    names,
    output_texts,
    query,
    record,
    rows,
)


@pytest.fixture
def commits() -> Iterator[list[int]]:
    """Count the commits while a test runs."""
    counted: list[int] = []

    def count(_connection: object) -> None:
        counted.append(1)

    sqlalchemy.event.listen(Engine, "commit", count)
    yield counted
    sqlalchemy.event.remove(Engine, "commit", count)


def test_each_student_is_one_commit(write: WriteBook, graded: Made, commits: list[int]):
    """Each student is one commit; opening the gradebook adds its own."""
    counts = []
    for class_ in ("ada",), ("ada", "bob", "cy"), ("ada", "bob", "cy"):
        commits.clear()
        write(*map(graded, class_))
        counts.append(len(commits))

    assert [count - counts[0] for count in counts] == [0, 2, 2]


def test_formgrader_gets_feedback_module_and_time(
    course: Course, write: WriteBook, graded: Made, work: StudentWork, answered: Callable
):
    """Formgrader gets a valid notebook in read-only files, and nothing else."""
    handed = work(lab=answered(why="Since x + x."), stamp=LATE + b"\n")
    write(graded(double=2.5), ada=handed)
    files, lab = autograded(course.root), lab_of(course.root)

    assert set(files) == {"lab.ipynb", "tiny.py", "timestamp.txt"}
    assert (files["tiny.py"], files["timestamp.txt"]) == (SOLUTION.encode(), LATE)
    assert by_name(lab)["why"]["source"] == "Since x + x."
    credit = "2.5 of 5 points, of which 2.5 for properties that hold."
    assert f"double: in progress. {credit}" in output_texts(lab)
    assert {path.stat().st_mode & 0o777 for path in course.root.glob("autograded/ada/*/*")} == {
        0o444
    }


def test_an_older_folder_is_replaced_as_a_whole(course: Course, write: WriteBook, graded: Made):
    """No file of an earlier submission is left, and no temporary one."""
    write(graded())
    folder = course.root / "autograded" / "ada" / STAGE
    (folder / "old.txt").write_text("stale")
    write(graded())

    assert set(autograded(course.root)) == {"lab.ipynb", "tiny.py"}
    assert [path.name for path in folder.parent.iterdir()] == [STAGE]


def test_grading_again_changes_nothing(course: Course, write: WriteBook, graded: Made):
    """Grading again writes the same rows and files."""
    write(graded("ada", double=2.5), graded("bob"))
    before = dump(course.root), autograded(course.root)
    write(graded("ada", double=2.5), graded("bob"))

    assert (dump(course.root), autograded(course.root)) == before


def test_a_submission_of_no_stage_is_a_fault(write: WriteBook, work: StudentWork, graded: Made):
    """The problem of a submission without a stage is reported, and others are written."""
    lost = work(stage="", module=None, problem="Nothing to grade: it is empty.")
    nothing = record("ada", (), stage="", status=Status.UNREADABLE)

    assert write(nothing, graded("bob"), ada=lost).faults == (
        "ada: Nothing to grade: it is empty.",
    )


def test_duplicates_are_rejected(course: Course, graded: Made, write: WriteBook):
    """Two submissions of one student and stage are refused."""
    with pytest.raises(
        UsageError, match=f"ada has several submissions of {STAGE}.*Pass each path only once"
    ):
        write(graded("ada"), graded("ada"))
    assert rows(course.root) == {}


def test_a_stage_without_a_lab_is_refused_before_the_grading(course: Course, work: StudentWork):
    """A stage without a lab is refused, because its points would have no cells."""
    course.stage(STAGE).lab.unlink()

    with pytest.raises(CourseError, match="is missing; nbgrader reads the points"):
        Writer(course, [work()])


def test_the_gradebook_has_one_course(course: Course, write: WriteBook, graded: Made):
    """The gradebook has one course, although nbgrader adds one without a name."""
    write(graded())

    assert query(course.root, "select id from course") == [("tiny",)]


def test_a_full_disk_costs_one_student(
    course: Course, write: WriteBook, graded: Made, monkeypatch: pytest.MonkeyPatch
):
    """If a student's files cannot be written, their rows and files stay; others are written."""
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
    """The cells in formgrader are in the order of the lab."""
    write(graded())

    assert names(lab_of(course.root)) == [named(item) for item in CELLS if named(item)]


def test_a_regrade_says_whose_scores_changed(write: WriteBook, graded: Made):
    """One line reports whose scores changed and by how much, without new students."""
    first = write(graded("ada", double=2.5), graded("bob"), graded("eve"))
    again = write(graded("ada"), graded("bob"), graded("eve", Scale=0), graded("new"))

    assert first.remarks == ()
    assert again.remarks == (
        (
            f"2 of 3 earlier scores changed: ada, {STAGE}: 7.5 → 10 (+2.5); "
            f"eve, {STAGE}: 10 → 5 (-5)."
        ),
    )


def test_a_total_that_a_penalty_changes_is_reported(
    course: Course, write: WriteBook, graded: Made, work: StudentWork
):
    """A total that changed although no check did, such as by a late penalty, has its own line."""
    query(course.root, "update assignment set duedate = '2026-11-01 10:00:00.000000'")
    add_settings(course, 'c.LateSubmissionPlugin.penalty_method = "zero"\n')
    write(graded("ada"), graded("bob"))
    again = write(graded("ada"), graded("bob"), ada=work("ada", stamp=LATE))

    assert again.remarks == (
        "0 of 2 earlier scores changed.",
        f"1 of 1 earlier totals changed: ada, {STAGE}: 10 → 0 (-10).",
    )


def test_grades_by_other_points_are_named(write: WriteBook, graded: Made, write_lab: WriteLab):
    """A grade by old points is listed until its submission is graded again."""
    write(graded("ada"), graded("bob"))
    write_lab(points={"double": 8.0, "Scale": 5.0})
    new = (exercise("double", 8.0, 8.0), exercise("Scale", 5.0, 5.0))
    for_ada = write(record("ada", new))
    for_bob = write(record("bob", new))

    assert for_ada.remarks[1:] == (
        (
            f"{STAGE}: when the submissions of these students were graded, the lab was worth 15 "
            "points: bob. Now it is worth 18 or divides them differently. Grade these submissions "
            "again."
        ),
    )
    assert for_bob.remarks[1:] == ()


def test_a_gradebook_that_cannot_be_written_is_refused_before_grading(
    course: Course, work: StudentWork
):
    """A gradebook that cannot be written is reported before the grading."""
    address = f"sqlite:///file:{course.root / 'gradebook.db'}?mode=ro&uri=true"
    add_settings(course, f"c.CourseDirectory.db_url = {address!r}\n")

    with pytest.raises(UsageError, match="readonly database"):
        Writer(course, [work()])


def test_a_folder_that_cannot_be_written_is_refused_before_grading(
    course: Course, work: StudentWork
):
    """A file in place of autograded/ is reported before the grading."""
    (course.root / "autograded").rmdir()
    (course.root / "autograded").write_text("", "utf-8")

    with pytest.raises(UsageError, match=r"autograded can't be written: .* Nothing was graded"):
        Writer(course, [work()])
