"""Tests Moodle's offline grading worksheet, filled in."""

import csv
import io
import re

import pytest

from autograder.errors import UsageError
from autograder.exports.grade_table import GradeTable
from autograder.exports.moodle import moodle
from tests.kit.factories import MakeGradeTable, row, table_of_rows
from tests.kit.importers import cells, moodle_grades

ENGLISH = (
    'Identifier,"Full name","ID number","Email address",Status,Grade,"Maximum Grade",'
    '"Grade can be changed","Last modified (submission)","Last modified (grade)",'
    '"Feedback comments"'
)
GERMAN = (
    'ID,"Vollständiger Name",Matrikelnummer,E-Mail-Adresse,Status,Bewertung,Bestwertung,'
    '"Bewertung kann geändert werden","Zuletzt geändert (Abgabe)",'
    '"Zuletzt geändert (Bewertung)",Feedback'
)
UNKNOWN = "Zz,Qualificacio completa,Nn,Ee,Ss,Gg,Mm,Cc,Ll,Dd,Ff"
ROWS = """
Participant 11,Ada Lovelace,0815,ada@example.org,Submitted,,10.00,Yes,"Monday, 1 June",-,"<p>Good,
""so far""</p>"
Participant 12,Alan Turing,0816,alan@example.org,Submitted,6.00,10.00,Yes,-,-,
Participant 13,Emmy Noether,0817,emmy@example.org,Submitted,3.00,10.00,No,-,-,
"""
WORKSHEET = ENGLISH + ROWS


def fill(grades: GradeTable, worksheet: str = WORKSHEET, grade_column: str = "") -> list[list[str]]:
    """The cells of the filled worksheet."""
    return cells(moodle(grades, worksheet.encode(), "01_tiny", grade_column).content)


def test_grades_are_scaled_to_the_maximum_grade_if_asked():
    """Each of two students has a grade out of twenty, and the maximum stays."""
    worksheet = WORKSHEET.replace("10.00", "20.00").encode()
    students = (row("Ada Lovelace_11", 7.5), row("Alan Turing_12", 5.0))
    done = moodle(table_of_rows(*students), worksheet, "01_tiny", to_points=True)

    assert [line[5:7] for line in cells(done.content)[1:3]] == [["15", "20.00"], ["10", "20.00"]]


def test_a_grade_is_filled_in_and_nothing_else_changes():
    """Quotes, commas and line ends within cells, feedback and dates stay."""
    done = moodle(table_of_rows(row("Ada Lovelace_11")), WORKSHEET.encode(), "01_tiny")
    before = cells(WORKSHEET.encode())
    before[1][5] = "7.5"

    assert cells(done.content) == before
    assert moodle_grades(done.content) == {"11": 7.5, "12": 6.0, "13": 3.0}
    assert done.remarks == ()


@pytest.mark.parametrize(
    "student",
    [
        pytest.param("Ada Lovelace_11", id="participant"),
        pytest.param("Team 3-Ada Lovelace_11", id="participant-in-a-group"),
        pytest.param("Participant_11", id="participant-without-a-name"),
        pytest.param("0815", id="id-number"),
        pytest.param("Ada@Example.org", id="address"),
        pytest.param("Ada Lovelace", id="full-name"),
    ],
)
def test_a_student_is_found_by(student: str):
    """A student is found by the number in the download, or by a cell that fits one student."""
    assert fill(table_of_rows(row(student)))[1][5] == "7.5"


def test_an_address_and_names_of_a_gradebook_find_a_student():
    """An address, or the names in nbgrader's database, find a student."""
    by_address = row("x", email="ada@example.org")
    by_name = row("y", first_name="Alan", last_name="Turing")

    assert [line[5] for line in fill(table_of_rows(by_address, by_name))[1:3]] == ["7.5", "7.5"]


@pytest.mark.parametrize(
    ("students", "words"),
    [
        pytest.param(["Bob_99"], "Not found in the worksheet, not exported: Bob_99", id="unknown"),
        pytest.param(["0815", "ada@example.org"], "fits two students", id="two-students-one-row"),
        pytest.param(["Submitted"], "could be any of rows 2, 3, 4", id="ambiguous"),
    ],
)
def test_no_student_is_guessed(students: list[str], words: str):
    """Each unknown or doubtful student gets a remark and no grade."""
    done = moodle(table_of_rows(*map(row, students)), WORKSHEET.encode(), "01_tiny")

    assert cells(done.content) == cells(WORKSHEET.encode())
    assert len(done.remarks) == len(students)
    assert all(words in remark for remark in done.remarks)


@pytest.mark.parametrize("name", ["Alan Turing", "Mallory", "Ada", "-"])
def test_a_number_with_another_name_gets_no_grade(name: str):
    """A student who changed their name since submitting gets a remark and no grade."""
    done = moodle(table_of_rows(row(f"{name}_11"), row("0816")), WORKSHEET.encode(), "01_tiny")

    assert [line[5] for line in cells(done.content)[1:3]] == ["", "7.5"]
    assert done.remarks[0] == (
        f"{name}_11: participant 11 has a different name in the worksheet, not exported"
    )


def test_a_grade_that_cannot_be_changed_stays():
    """A locked grade, which Moodle would not change, stays and gets a remark."""
    done = moodle(table_of_rows(row("Emmy Noether_13")), WORKSHEET.encode(), "01_tiny")

    assert cells(done.content)[3][5] == "3.00"
    assert done.remarks == ("Emmy Noether_13: the grade is locked in Moodle, not changed",)


def test_a_locked_grade_is_seen_behind_a_workflow_state():
    """A locked grade is recognized behind the additional column of the marking workflow."""
    worksheet = WORKSHEET.replace('"Maximum Grade"', '"Maximum Grade",State')
    worksheet = worksheet.replace("10.00,", "10.00,Not marked,")

    assert fill(table_of_rows(row("Emmy Noether_13")), worksheet)[3][5] == "3.00"


def test_a_replaced_grade_is_in_a_remark():
    """A grade that stays the same is not reported as changed."""
    changed = moodle(table_of_rows(row("Alan Turing_12")), WORKSHEET.encode(), "01_tiny")
    same = moodle(table_of_rows(row("Alan Turing_12", 6.0)), WORKSHEET.encode(), "01_tiny")

    assert changed.remarks == ("Alan Turing_12: the grade was 6.00 and becomes 7.5",)
    assert same.remarks == ()


def test_no_grade_leaves_the_cell():
    """A missing grade leaves the existing grade in the worksheet."""
    assert fill(table_of_rows(row("Alan Turing_12", None)))[2][5] == "6.00"


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(GERMAN, id="german"),
        pytest.param(UNKNOWN, id="unknown-language"),
    ],
)
def test_other_languages_worksheets_are_filled_in(header: str):
    """The grade's column is found by its word, or by equal maximum grades to its right."""
    rows = ROWS.replace("Participant ", "Teilnehmer/in ")
    worksheet = header + re.sub(r"(\d+)\.00", r'"\1,00"', rows)
    after = fill(table_of_rows(row("Ada Lovelace_11")), worksheet)

    assert after[1][5] == "7.5"
    assert after[0] == next(csv.reader([header]))


def test_a_column_can_be_named():
    """An option chooses between two possible columns."""
    worksheet = WORKSHEET.replace('"ID number"', "Note")
    with pytest.raises(UsageError, match=r"Several could be .* --grade-column"):
        fill(table_of_rows(row("Ada Lovelace_11")), worksheet)

    assert fill(table_of_rows(row("Ada Lovelace_11")), worksheet, "grade")[1][5] == "7.5"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param(
            "10.00", "100.00", "maximum grade in Moodle is 100.00, but 01_tiny is", id="maximum"
        ),
        pytest.param("10.00", '"Good\nBad"', "on a scale", id="scale"),
        pytest.param("Participant ", "", "None of them contains identifiers", id="no-identifier"),
        pytest.param("Grade,", "Points,", "", id="renamed-but-recognized"),
    ],
)
def test_a_worksheet_that_does_not_fit_is_refused(old: str, new: str, words: str):
    """A worksheet with different points is refused, because grades are scaled only on request."""
    worksheet = WORKSHEET.replace(old, new)
    if not words:
        assert fill(table_of_rows(row("Ada Lovelace_11")), worksheet)[1][5] == "7.5"
        return
    with pytest.raises(UsageError, match=words):
        fill(table_of_rows(row("Ada Lovelace_11")), worksheet)


def test_a_grade_column_that_cannot_be_found_must_be_named():
    """If the grade column cannot be found, the message lists the columns in the file."""
    worksheet = "Id,Mark\nParticipant 1,\n"
    with pytest.raises(
        UsageError, match=r"columns are Id, Mark\. None is recognized .* --grade-column"
    ):
        fill(table_of_rows(row("Ada_1")), worksheet)


def test_an_unknown_stage_is_refused(grades: MakeGradeTable):
    """An unknown stage is refused with a list of the known ones."""
    with pytest.raises(UsageError, match=r"no stage '07'\. Stages: 01_tiny"):
        moodle(grades(ada=1.0), WORKSHEET.encode(), "07")


def test_semicolons_become_the_commas_that_moodle_wants():
    """A spreadsheet's semicolons become commas, and the byte order mark stays."""
    page = io.StringIO(newline="")
    csv.writer(page, delimiter=";").writerows(cells(WORKSHEET.encode()))
    done = moodle(
        table_of_rows(row("Ada Lovelace_11")), page.getvalue().encode("utf-8-sig"), "01_tiny"
    )

    assert moodle_grades(done.content)["11"] == 7.5
    assert done.content.startswith(b'\xef\xbb\xbf"Identifier",')


def test_a_formula_of_a_student_is_in_a_remark():
    """A name that is a formula is in a remark, because students choose their names."""
    worksheet = WORKSHEET.replace("Ada Lovelace", "=1+1")
    done = moodle(table_of_rows(row("=1+1_11")), worksheet.encode(), "01_tiny")

    assert "rows 2 of the worksheet" in done.remarks[0]


def test_a_worksheet_without_any_of_the_students_is_a_problem():
    """A worksheet that contains none of the students is reported as the wrong one."""
    done = moodle(table_of_rows(row("nobody")), WORKSHEET.encode(), "01_tiny")

    assert done.problem.startswith("The worksheet contains none of the students with a score")
