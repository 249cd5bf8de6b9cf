"""Tests the CSV file that Canvas imports."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.errors import UsageError
from autograder.exports.canvas import canvas
from autograder.exports.grade_table import GradeTable, Score, StageColumn, StudentGrades
from tests.kit.factories import FORMULAS, MakeGradeTable, row, table_of_rows

ROSTER = """\
Student,ID,SIS User ID,SIS Login ID,Section,Notes,Tiny things (77),Other (78),Final Score
,,,,,,Manual Posting,,
    Points Possible,,,,,,10,5,(read only)
"Lovelace, Ada",123,u1,ada,A,"likes ""engines"", comets",,4,80
"Turing, Alan",124,u2,alan,A,,6.00,EX,
"Noether, Emmy",125,u3,emmy,B,,EX,,
"""


def cells(content: bytes, delimiter: str = ",") -> list[list[str]]:
    """The cells of the file."""
    page = content.decode("utf-8-sig")
    return list(csv.reader(io.StringIO(page, newline=""), delimiter=delimiter, strict=True))


def importer_reads(header: list[str]) -> list[str]:
    """Apply the header rule of Canvas's importer; return the assignments' columns."""
    if len(header) > 4 and "LastName" in header[0] and "FirstName" in header[1]:
        names = 3
    else:
        names = 2
        assert len(header) > 3
        assert "Student" in header[0]
        assert "ID" in header[1]
    info = names + 1
    if re.search(r"SIS\s+Login\s+ID", header[names]):
        info += 1
    elif re.search(r"SIS\s+User\s+ID", header[names]):
        assert re.search(r"SIS\s+Login\s+ID", header[names + 1])
        info += 2
        info += bool(re.search(r"Integration\s+ID", header[info - 1]))
        info += bool(re.search(r"Root\s+Account", header[info - 1]))
    assert "Section" in header[info - 1]
    ignored = re.compile("(Current|Final|Override) (Score|Points|Grade|Status)")
    return [name for name in header[info:] if not ignored.search(name)]


def test_without_a_roster_the_file_is_one_that_canvas_reads(grades: MakeGradeTable):
    """Without a roster the file has Canvas's four columns, then each stage with its points."""
    page = cells(canvas(grades(lovelaceada_123=7.5, emmy=10.0)).content)

    assert importer_reads(page[0]) == ["Tiny things"]
    assert page[1:] == [
        ["    Points Possible", "", "", "", "10"],
        ["lovelaceada", "123", "lovelaceada_123", "", "7.5"],
        ["emmy", "", "emmy", "", "10"],
    ]


def test_no_grade_is_an_empty_cell(grades: MakeGradeTable):
    """A missing grade is an empty cell, never 0."""
    page = cells(canvas(grades(ada=7.5, zoe=None)).content)

    assert page[3] == ["zoe", "", "zoe", ""]


def test_a_stage_without_grades_gets_no_column():
    """A stage without grades has no column, which would be an empty assignment in Canvas."""
    stages = (StageColumn("01_tiny", "Tiny things", 10.0), StageColumn("02_more", "More"))
    page = cells(canvas(GradeTable(stages=stages, rows=(row("ada"),))).content)

    assert importer_reads(page[0]) == ["Tiny things"]


def test_a_roster_keeps_every_other_cell(grades: MakeGradeTable):
    """Columns, notes, other assignments, special rows and their order stay in the file."""
    done = canvas(grades(lovelaceada_123=7.5), ROSTER.encode())
    before, after = cells(ROSTER.encode()), cells(done.content)
    before[3][6] = "7.5"

    assert after == before
    assert importer_reads(after[0]) == ["Notes", "Tiny things (77)", "Other (78)"]
    assert done.remarks == ()


@pytest.mark.parametrize(
    "student",
    [
        pytest.param("lovelaceada_123", id="number-of-a-download"),
        pytest.param("123", id="id"),
        pytest.param("u1", id="sis-user-id"),
        pytest.param("ADA", id="login-in-any-case"),
        pytest.param("Lovelace, Ada", id="name"),
    ],
)
def test_a_student_is_found_by(student: str):
    """A student is found by the number at the end, any identifier, or else the name."""
    done = canvas(table_of_rows(row(student)), ROSTER.encode())

    assert cells(done.content)[3][6] == "7.5"


def test_first_and_last_name_find_a_student():
    """First and last name, as nbgrader's database has them, find a student."""
    known = row("al", first_name="Alan", last_name="Turing")
    done = canvas(table_of_rows(known), ROSTER.encode())

    assert cells(done.content)[4][6] == "7.5"


@pytest.mark.parametrize(
    ("students", "words"),
    [
        pytest.param(["bob_999"], "Not found in the roster, not exported: bob_999", id="unknown"),
        pytest.param(["ada_124"], "", id="the-number-counts-not-the-name"),
        pytest.param(
            ["124", "alan"],
            "row 5 of the roster fits two students",
            id="two-students-one-row",
        ),
    ],
)
def test_no_student_is_guessed(students: list[str], words: str):
    """Each unknown or doubtful student gets a remark and no cell."""
    roster = ROSTER.replace("6.00", "")
    done = canvas(table_of_rows(*map(row, students)), roster.encode())

    assert all(words in remark for remark in done.remarks)
    assert [line[6] for line in cells(done.content)[3:]] == ["", "" if words else "7.5", "EX"]


def test_identifiers_that_disagree_are_ambiguous():
    """If the number and the login point to two rows, neither row is taken."""
    roster = ROSTER.replace(",emmy,", ",x_123,")
    done = canvas(table_of_rows(row("x_123")), roster.encode())

    assert done.remarks == ("x_123: could be any of rows 4, 6 of the roster, not exported",)


def test_a_replaced_score_is_in_a_remark(grades: MakeGradeTable):
    """A score that is the same at two decimals is not reported as changed."""
    assert canvas(grades(alan=6.0), ROSTER.encode()).remarks == ()
    assert canvas(grades(alan=7.5), ROSTER.encode()).remarks == (
        "alan: Tiny things (77) was 6.00 and becomes 7.5",
    )


def test_an_excused_student_stays_excused(grades: MakeGradeTable):
    """A cell with EX, which the instructor entered, stays as it is."""
    done = canvas(grades(emmy=7.5), ROSTER.encode())

    assert cells(done.content)[5][6] == "EX"
    assert "emmy: excused" in done.remarks[0]


def test_no_grade_leaves_the_rosters_cell(grades: MakeGradeTable):
    """Without a new grade the cell stays, because an empty one would delete the old grade."""
    done = canvas(grades(ada=1.0, alan=None), ROSTER.encode())

    assert cells(done.content)[4][6] == "6.00"


@pytest.mark.parametrize("header", ["01_tiny (77)", "01_TINY", "tiny  THINGS", "Tiny things"])
def test_a_column_is_found_by_title_or_name(grades: MakeGradeTable, header: str):
    """A column is found by title or name, with Canvas's number or without, in any case."""
    roster = ROSTER.replace("Tiny things (77)", header)
    after = cells(canvas(grades(ada=7.5), roster.encode()).content)

    assert after[0].count(header) == 1
    assert after[3][6] == "7.5"


def test_a_new_column_comes_last_with_its_points(grades: MakeGradeTable):
    """A new column is the last one, in each row of a student."""
    roster = ROSTER.replace("Tiny things", "Something else")
    after = cells(canvas(grades(ada=7.5), roster.encode()).content)

    assert importer_reads(after[0])[-1] == "Tiny things"
    assert [line[9:] for line in after] == [["Tiny things"], [], ["10"], ["7.5"], [], []]


def test_a_roster_without_points_gets_a_row_of_them_at_its_end(grades: MakeGradeTable):
    """A file without a row of points gets one at the end, so no student's row moves."""
    roster = "".join(line for line in ROSTER.splitlines(keepends=True) if "Possible" not in line)
    after = cells(canvas(grades(ada=7.5, alan=6.0), roster.encode()).content)

    assert after[-1] == ["    Points Possible", "", "", "", "", "", "10"]
    assert [line[6] for line in after[2:4]] == ["7.5", "6"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param("Other (78)", "01_tiny (78)", "several columns", id="two-columns"),
        pytest.param("Section", "Group", "Export it in Canvas", id="no-section"),
        pytest.param("Student,ID", "Name,Number", "Export it in Canvas", id="another-table"),
    ],
)
def test_a_roster_that_does_not_fit_is_refused(
    grades: MakeGradeTable, old: str, new: str, words: str
):
    """A file whose columns do not fit is refused, because columns are never guessed."""
    with pytest.raises(UsageError, match=words):
        canvas(grades(ada=7.5), ROSTER.replace(old, new).encode())


WORTH_20 = ROSTER.replace(",10,5,", ",20,5,")


def test_an_assignment_with_other_points_does_not_block_the_others():
    """A column with different points stays unchanged and gets a remark; others are filled in."""
    both = StudentGrades(
        student="ada",
        scores={
            "01_tiny": Score(raw=7.5, score=7.5, max_score=10.0),
            "02_other": Score(raw=4.5, score=4.5, max_score=5.0),
        },
    )
    stages = (StageColumn("01_tiny", "Tiny things", 10.0), StageColumn("02_other", "Other", 5.0))
    done = canvas(GradeTable(stages=stages, rows=(both,)), WORTH_20.encode())

    assert cells(done.content)[3][6:8] == ["", "4.5"]
    assert not done.problem
    assert "Tiny things (77) is worth 20 points, and 01_tiny 10 here" in done.remarks[0]
    assert "--scale" in done.remarks[0]


def test_scores_are_scaled_to_canvas_points_if_asked(grades: MakeGradeTable):
    """A remark has the factor, and Canvas's points stay."""
    done = canvas(grades(ada=7.5), WORTH_20.encode(), to_points=True)

    assert cells(done.content)[3][6] == "15"
    assert cells(done.content)[2][6] == "20"
    assert "multiplied by 2." in done.remarks[0]


def test_nothing_is_written_where_no_assignment_has_the_points(grades: MakeGradeTable):
    """If no assignment has the points of the stage, no file is written."""
    assert "nothing was written" in canvas(grades(ada=7.5), WORTH_20.encode()).problem


def test_semicolons_and_a_byte_order_mark_stay(grades: MakeGradeTable):
    """Semicolons and the byte order mark of a file from Canvas stay."""
    roster = b"\xef\xbb\xbfStudent;ID;SIS Login ID;Section;Tiny things (7)\r\nA;1;ada;S;\r\n"
    done = canvas(grades(ada=7.5), roster)

    assert done.content.startswith(b'\xef\xbb\xbf"Student";"ID";')
    assert cells(done.content, ";")[1] == ["A", "1", "ada", "S", "7.5"]


def test_last_and_first_names_in_separate_columns_are_read():
    """A file from Canvas with last and first names in separate columns is read."""
    roster = b"LastName,FirstName,ID,SIS Login ID,Section,T\nTuring,Alan,124,at,A,\n"
    after = cells(canvas(table_of_rows(row("Alan Turing")), roster).content)

    assert importer_reads(after[0]) == ["T", "Tiny things"]
    assert after[1] == ["Turing", "Alan", "124", "at", "A", "", "7.5"]


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_gets_an_apostrophe_in_our_file_and_a_remark_in_theirs(name: str):
    """A formula gets an apostrophe in the kit's file, and a remark in a file from Canvas."""
    ours = canvas(table_of_rows(row("x_1", last_name=name)))
    roster = io.StringIO(newline="")
    csv.writer(roster).writerows([["Student", "ID", "SIS Login ID", "Section"], [name, 1, "x", ""]])
    theirs = canvas(table_of_rows(row("x_1")), roster.getvalue().encode())

    assert cells(ours.content)[2][0].startswith("'")
    assert cells(theirs.content)[1][0] == name
    assert "rows 2 of the roster" in theirs.remarks[0]


def test_a_login_with_an_apostrophe_is_in_a_remark():
    """A login that would get an apostrophe is in a remark, because Canvas would not find it."""
    assert "fill in a roster" in canvas(table_of_rows(row("-x"))).remarks[0]


@given(st.text(), st.floats(0, 1000))
def test_any_name_and_score_make_a_file_that_canvas_reads(name: str, score: float):
    """The file has one row for each student, with equal columns and at most two decimals."""
    scores = {"01_tiny": Score(raw=score, score=score, max_score=1000.0)}
    rows = (StudentGrades(student="x_1", last_name=name, first_name=name, scores=scores),)
    stages = (StageColumn("01_tiny", "Tiny things", 1000.0),)
    page = cells(canvas(GradeTable(stages=stages, rows=rows)).content)

    assert importer_reads(page[0]) == ["Tiny things"]
    assert [len(line) for line in page] == [5, 5, 5]
    assert re.fullmatch(r"\d+(\.\d{1,2})?", page[2][4])
    assert abs(float(page[2][4]) - score) <= 0.0051


def test_only_students_with_scores_are_looked_for():
    """Only students with scores are looked up, not a whole imported class."""
    rows = (row("123"), *(StudentGrades(student=f"s{n}") for n in range(60)))
    done = canvas(table_of_rows(*rows), ROSTER.encode())

    assert done.remarks == ()
    assert done.problem == ""


def test_a_file_without_any_of_the_students_is_a_problem():
    """A file that contains none of the students is reported as a problem."""
    done = canvas(table_of_rows(row("nobody")), ROSTER.encode())

    assert done.problem.startswith("The roster contains none of the students with a score; nothing")


def test_a_new_assignment_is_announced():
    """A remark announces a new assignment, which may be a known one with a different name."""
    roster = ROSTER.replace("Tiny things", "Homework 1")
    done = canvas(table_of_rows(row("123")), roster.encode())

    assert done.remarks[-1].startswith("No assignment in the roster is named “Tiny things” or")
