"""Tests reading the participants from Moodle's grading worksheet."""

import pytest

from autograder.errors import UsageError
from autograder.submission.names import parse_download_name
from autograder.submission.worksheet import Worksheet, fits_name, letters

HEAD = 'Identifier,"Full name","Email address",Status,Grade,"Maximum Grade"\n'
ROWS = (
    "Participant 11,Ada Lovelace,ada@example.org,Submitted,,10.00\n"
    "Participant 12,Séan O'Brien,sean@example.org,Submitted,,10.00\n"
    "Participant 13,Ada Lovelace,eve@example.org,Submitted,,10.00\n"
)
GERMAN = ROWS.replace("Participant", "Teilnehmer/in")


@pytest.fixture
def worksheet(tmp_path):
    """Read a worksheet."""

    def read(text: str) -> Worksheet:
        file = tmp_path / "worksheet.csv"
        file.write_text(text, "utf-8-sig")
        return Worksheet.read(file)

    return read


@pytest.mark.parametrize("rows", [ROWS, GERMAN])
def test_it_is_read_in_any_language(worksheet, rows):
    """In any language, the identifier is read as a word and the participant's number."""
    assert set(worksheet(HEAD + rows).rows) == {"11", "12", "13"}


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", HEAD, HEAD + "Ada,x,y,z,,\n"])
def test_another_file_is_refused(worksheet, text):
    """A file that is not the worksheet is refused with the worksheet's place in Moodle."""
    with pytest.raises(UsageError, match="is not a grading worksheet: no column holds identifiers"):
        worksheet(text)


@pytest.mark.parametrize(
    ("folder", "doubt"),
    [
        pytest.param("Sean O Brien_12", "participant 12 has a different name", id="another-name"),
        pytest.param("Séan OBrien_12", "", id="as-a-file-name"),
        pytest.param("Team 7-Séan OBrien_12", "", id="with-a-group"),
        pytest.param(
            "Ada Lovelace_12", "participant 12 has a different name", id="that-of-another"
        ),
        pytest.param("Ada Lovelace_14", "the worksheet has no participant 14.", id="unknown"),
        pytest.param("Ada Lovelace_13", "the worksheet has this name twice", id="twice"),
    ],
)
def test_a_name_that_is_not_the_participants_is_in_doubt(worksheet, folder, doubt):
    """A name that differs from the worksheet's for the number is set aside."""
    parsed = parse_download_name(f"{folder}_assignsubmission_file_")
    said = worksheet(HEAD + ROWS).doubt(parsed, is_found_by_name=True)

    assert said.startswith(doubt)
    assert bool(said) == bool(doubt)


def test_two_of_one_name_are_told_apart_by_their_numbers(worksheet):
    """Two students with one name are distinguished by their numbers without a roster."""
    parsed = parse_download_name("Ada Lovelace_13_assignsubmission_file_")

    assert worksheet(HEAD + ROWS).doubt(parsed, is_found_by_name=False) == ""


def test_a_download_without_names_is_clear(worksheet):
    """In an anonymous download only the number is compared, so no submission is set aside."""
    parsed = parse_download_name("Participant_12_assignsubmission_file_")

    assert worksheet(HEAD + ROWS).doubt(parsed, is_found_by_name=False) == ""


def test_a_name_without_letters_fits_nothing():
    """A name without letters is not matched with an empty cell."""
    assert not fits_name("-", frozenset({letters("")}))
