"""Tests `nbgrader export`: nbgrader's own numbers, and names that are safe in a spreadsheet."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin

from autograder.course import Course
from autograder.exports.grade_table import CellGrade
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.course_gradebook import CourseGradebook
from autograder.gradebook.grade_export import (
    CsvExport,
    grade_table_of_gradebook,
    names_of_gradebook,
    with_zeros,
)
from autograder.results import Status
from tests.kit.commands import run
from tests.kit.factories import STAGE, Made, StudentWork, WriteBook, query, record

Exported = Callable[..., list[dict[str, str]]]
NUMBERS = ("raw_score", "late_submission_penalty", "score", "max_score")
NAMES = {
    "comma": "Lovelace, Countess of",
    "quotes": 'Ada "the first"',
    "newline": "two\nlines",
    "accents": "Erdős Pál",
}
FORMULAS = ('=HYPERLINK("http://a","x")', "+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1+1")


class Parent(CsvExportPlugin):
    """The part of the command that a plugin uses."""

    def __init__(self, course: Course) -> None:
        super().__init__()
        self.coursedir = NbgraderSetup.of_course(course).coursedir


@pytest.fixture
def exported(course: Course, tmp_path: Path) -> Exported:
    """Export with *plugin*; return the lines of the file."""

    def export(plugin: type[CsvExportPlugin] = CsvExport, **options: list) -> list[dict[str, str]]:
        made = plugin(parent=Parent(course), to=str(tmp_path / "grades.csv"), **options)
        with NbgraderSetup.of_course(course).gradebook() as book:
            made.export(book)
        with (tmp_path / "grades.csv").open(newline="", encoding="utf-8") as page:
            return list(csv.DictReader(page, strict=True))

    return export


@pytest.fixture
def class_(course: Course, write: WriteBook, graded: Made, work: StudentWork, answered: Callable):
    """Four students: late and by hand, waiting, without a notebook, and without anything."""
    query(course.root, "update assignment set duedate = '2026-11-01 10:00:00.000000'")
    more = "c.LateSubmissionPlugin.penalty_method = 'zero'\n"
    with (course.root / "nbgrader_config.py").open("a", encoding="utf-8") as settings:
        settings.write(more)
    late = work("ada", stamp=b"2026-11-01 12:00:00 UTC")
    waiting = work("bob", lab=answered(why="Because.", sketch="x = 1"))
    write(graded("ada", double=2.5), graded("bob", Scale=0.1), graded("cy"), ada=late, bob=waiting)
    query(course.root, "update grade set manual_score = 3.3, extra_credit = 0.2 where auto_score=0")
    query(course.root, "insert into student (id, lms_user_id) values ('dora', '7')")


@pytest.mark.usefixtures("class_")
def test_numbers_are_nbgraders(exported: Exported):
    """Rows are equal to nbgrader's, with manual scores, extra credit, penalties and zeros."""
    ours, theirs = exported(), exported(CsvExportPlugin)

    assert list(ours[0]) == list(theirs[0])
    assert len(ours) == 4
    for mine, other in zip(ours, theirs, strict=True):
        assert [float(mine[name]) for name in NUMBERS] == pytest.approx(
            [float(other[name]) for name in NUMBERS]
        )
        assert {**mine, **dict.fromkeys(NUMBERS)} == {**other, **dict.fromkeys(NUMBERS)}


@pytest.mark.usefixtures("class_")
def test_ungraded_answers_are_reported(exported: Exported, caplog: pytest.LogCaptureFixture):
    """Ungraded answers count 0 for now, in nbgrader's file and in the kit's, and are reported."""
    exported()

    assert f"{STAGE}: 2 answers wait to be graded by hand and count 0 for now: bob." in caplog.text
    assert "ada" not in caplog.messages[-1]


@pytest.mark.parametrize(
    ("options", "score"),
    [pytest.param({}, "", id="blank"), pytest.param({"ungraded": "zero"}, "0", id="zero")],
)
def test_a_submission_with_nothing_to_grade_is_no_silent_zero(
    write: WriteBook, work: StudentWork, exported: Exported, caplog, options: dict, score: str
):
    """If nothing could be graded, cells stay empty unless zeros are requested; a line tells why."""
    write(record("ruth", (), status=Status.UNREADABLE), ruth=work("ruth", module=None))
    [ruth] = exported(**options)

    assert ruth["score"] == score
    assert "in one submission no exercise could be graded" in caplog.text
    assert caplog.text.strip().endswith(": ruth")


def test_a_grade_by_hand_counts_where_nothing_could_be_graded(
    course: Course, write: WriteBook, work: StudentWork, exported: Exported
):
    """After the instructor has graded each exercise by hand, the submission has a score."""
    write(record("ruth", (), status=Status.UNREADABLE), ruth=work("ruth", module=None))
    query(course.root, "update grade set manual_score = 2.5 where auto_score is null")
    [ruth] = exported()

    assert ruth["score"] == "5"


@pytest.mark.usefixtures("class_")
def test_a_missing_submission_is_0(exported: Exported):
    """A missing submission is 0, as in nbgrader's file, so that sums of a column are right."""
    [dora] = [line for line in exported() if line["student_id"] == "dora"]

    assert [dora[name] for name in NUMBERS] == ["0", "0", "0", "15"]


@pytest.mark.usefixtures("class_")
@pytest.mark.parametrize(
    ("options", "students"),
    [
        pytest.param({"student": ["ada", "dora"]}, ["ada", "dora"], id="students"),
        pytest.param({"assignment": [STAGE], "student": ["bob"]}, ["bob"], id="both"),
        pytest.param({"assignment": ["other"]}, [], id="unknown-assignment"),
        pytest.param({"student": [7]}, [], id="a-number"),
    ],
)
def test_options_choose_rows(exported: Exported, options: dict, students: list[str]):
    """An option chooses students as in nbgrader's own export."""
    assert [line["student_id"] for line in exported(**options)] == students
    assert exported(CsvExportPlugin, **options) == [] or students


@pytest.mark.parametrize("name", [pytest.param(name, id=key) for key, name in NAMES.items()])
def test_any_name_stays_in_its_cell(course: Course, exported: Exported, name: str):
    """Any name stays in its cell; in nbgrader's own file some names take several cells."""
    with NbgraderSetup.of_course(course).gradebook() as book:
        book.add_student("ada", last_name=name, first_name=name, email="a@example.org")
    [line] = exported()

    assert line["last_name"] == line["first_name"] == " ".join(name.split())
    assert (line["student_id"], line["max_score"]) == ("ada", "15")


@pytest.mark.parametrize("text", FORMULAS)
def test_no_name_is_a_formula(course: Course, exported: Exported, text: str):
    """A spreadsheet shows each name as text."""
    with NbgraderSetup.of_course(course).gradebook() as book:
        book.add_student(text, last_name=text, first_name=text, email=text)
    [line] = exported()

    assert {line[name][0] for name in ("student_id", "last_name", "first_name", "email")} == {"'"}


def test_other_assignments_come_after_the_stages(course: Course, exported: Exported):
    """Assignments in the gradebook that are not stages of the course are left out."""
    with NbgraderSetup.of_course(course).gradebook() as book:
        book.add_student("ada")
        book.add_assignment("00_before")

    assert [line["assignment"] for line in exported()] == [STAGE, "00_before"]


@pytest.mark.usefixtures("class_")
def test_the_grade_table_has_every_exercise(course: Course):
    """The grade table has the points of every exercise, which some exports need."""
    setup = NbgraderSetup.of_course(course)
    with setup.gradebook() as book:
        grades = grade_table_of_gradebook(book, course, setup)
    ada = next(row for row in grades.rows if row.student == "ada").scores[STAGE]

    assert ada.exercises == {
        "double": (2.5, 5.0), "Scale": (5.0, 5.0), "why": (3.5, 3.0), "sketch": (3.5, 2.0),
    }  # fmt: skip
    assert (ada.raw, ada.penalty, ada.score, ada.max_score) == (14.5, 14.5, 0.0, 15.0)


def test_an_empty_gradebook_is_a_header(course: Course, exported: Exported):
    """The grade table of an empty gradebook has a header and no rows."""
    setup = NbgraderSetup.of_course(course)
    with setup.gradebook() as book:
        grades = with_zeros(grade_table_of_gradebook(book, course, setup), {})

    assert exported() == []
    assert (grades.rows, [stage.name for stage in grades.stages]) == ((), [STAGE])


@pytest.mark.usefixtures("class_")
def test_the_command_uses_our_plugin(course: Course):
    """The export command needs no flag in the folder of nbgrader_config.py."""
    with Gradebook(NbgraderSetup.of_course(course).coursedir.db_url, course.id) as book:
        book.update_or_create_student("ada", last_name="Lovelace, Countess")
    output = run(course.root, "nbgrader", "export", '--student=["ada"]')

    assert "grades.csv" in output
    assert '"Lovelace, Countess"' in (course.root / "grades.csv").read_text("utf-8")


def test_names_are_known_as_far_as_the_gradebook_has_them(course: Course):
    """A student without a name is exported with the id."""
    with NbgraderSetup.of_course(course).gradebook() as book:
        book.add_student("ada", first_name="Ada", last_name="Lovelace")
        book.add_student("plato", first_name="Plato")
        book.add_student("bob")
        names = names_of_gradebook(book)

    assert names == {"ada": "Ada Lovelace", "plato": "Plato"}


@pytest.mark.usefixtures("class_")
def test_the_grade_table_keeps_what_the_instructor_did(course: Course):
    """Automatic and manual scores, extra credit and comments of formgrader are kept apart."""
    query(
        course.root,
        "update comment set manual_comment = 'Why so?' "
        "where cell_id in (select id from base_cell where name = 'why')",
    )
    setup = NbgraderSetup.of_course(course)
    with setup.gradebook() as book:
        grades = grade_table_of_gradebook(book, course, setup)
    scores = {row.student: row.scores[STAGE] for row in grades.rows if row.scores}

    assert scores["bob"].cells["why"] == CellGrade(comment="Why so?")
    assert scores["ada"].cells["why"] == CellGrade(
        automatic=0.0, manual=3.3, extra=0.2, comment="Why so?"
    )
    assert scores["ada"].cells["double"] == CellGrade(automatic=2.5)


@pytest.mark.usefixtures("class_")
def test_answers_are_those_that_formgrader_shows(course: Course):
    """The texts of answers are read from the autograded lab; a blank answer has none."""
    book = CourseGradebook(course)

    assert book.answers("bob", STAGE)["why"] == "Because."
    assert book.answers("ada", STAGE) == {}
    assert book.answers("nobody", STAGE) == {}
