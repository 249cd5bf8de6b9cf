"""Students are matched to the rows of a download."""

import pytest

from autograder.exports.grade_table import StudentGrades
from autograder.exports.student_matching import RosterRow, comparable, lms_number, match_students
from autograder.submission.names import parse_download_name


@pytest.mark.parametrize(
    ("student", "number"),
    [
        pytest.param("lovelaceada_123", "123", id="canvas"),
        pytest.param("Ada Lovelace_11", "11", id="moodle"),
        pytest.param("ada", "", id="none"),
        pytest.param("ada_l", "", id="no-digits"),
        pytest.param("123", "", id="a-number-alone-is-an-identifier"),
        pytest.param("a_b_123~0a1b2c3d", "123", id="a-sign-had-to-be-changed"),
    ],
)
def test_the_number_is_what_the_download_ends_with(student: str, number: str):
    """Also before the digest that keeps changed names different."""
    assert lms_number(student) == number


@pytest.mark.parametrize("length", range(60, 80))
def test_a_shortened_id_gives_no_shortened_number(length: int):
    """Its digits may have been cut: another student's number could be left."""
    name = "x" * length
    student = parse_download_name(f"{name}_1234567_assignsubmission_file_").student

    assert lms_number(student) in {"1234567", ""}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("ADA", "ada", id="case"),
        pytest.param("Zoe\u0308", "Zoë", id="encoding-of-accents"),
        pytest.param(" Ada  Lovelace", "Ada Lovelace", id="spaces"),
    ],
)
def test_spelling_does_not_prevent_a_match(one: str, other: str):
    """Identifiers are compared without case, encoding of accents, and spaces."""
    assert comparable(one) == comparable(other)


def test_every_student_is_matched_or_named_in_a_remark():
    """One row fits ada, two fit alan, none fits emmy."""
    students = [StudentGrades(student=name) for name in ("ada", "alan", "emmy")]
    roster = [RosterRow(row, "", (name,)) for row, name in enumerate(("ada", "alan", "Alan"))]
    matched, remarks = match_students(students, roster, "roster")

    assert matched == {"ada": 0}
    assert remarks == (
        "alan: could be any of rows 2, 3 of the roster, not exported",
        "emmy: not found in the roster, not exported",
    )
