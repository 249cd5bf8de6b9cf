"""Whose row is whose."""

import pytest

from autograder.exports.student_matching import number_of
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
    """Also behind the digits that tell changed names apart."""
    assert number_of(student) == number


@pytest.mark.parametrize("length", range(60, 80))
def test_a_shortened_id_gives_no_shortened_number(length: int):
    """Its digits may have been cut: another student's number could be left."""
    name = "x" * length
    student = parse_download_name(f"{name}_1234567_assignsubmission_file_").student

    assert number_of(student) in {"1234567", ""}
