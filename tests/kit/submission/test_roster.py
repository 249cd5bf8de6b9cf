"""Tests finding the student of the course whose name is in a download."""

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.errors import UsageError
from autograder.submission.names import parse_download_name
from autograder.submission.roster import Roster, find_student

CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Homework (7)\n"
    "    Points Possible,,,,,10\n"
    '"Lovelace, Ada",101,s101,ada@example.org,A,\n'
    '"Turing, Alan",102,,alan,A,\n'
    '"Student, Test",103,,,A,\n'
)
STUDENTS = (
    "id,first_name,last_name,email,lms_user_id\n"
    "s101,Ada,Lovelace,ada@example.org,101\n"
    "s102,Alan,Turing,,\n"
)
CLASSROOM = (
    '"identifier","github_username","github_id","name"\n'
    '"0012","octo-cat","7","Ada Lovelace"\n'
    '"0014","","",""\n'
)
WORKSHEET = (
    'Identifikator,"Full name","Email address",Grade\nTeilnehmer/in 11,Ada,ada@example.org,\n'
)
Read = Callable[..., Roster]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a roster with some content."""

    def read_text(text: str, known: tuple[str, ...] = (), id_column: str = "") -> Roster:
        file = tmp_path / "roster.csv"
        file.write_text(text, "utf-8")
        return Roster.read(file, known, id_column)

    return read_text


@pytest.mark.parametrize(
    ("text", "name", "student"),
    [
        pytest.param(CANVAS, "lovelaceada_101_9_x.py", "s101", id="canvas-number"),
        pytest.param(CANVAS, "turingalan_LATE_102_9_x.py", "alan", id="canvas-login"),
        pytest.param(CANVAS, "studenttest_103_9_x.py", "103", id="canvas-without-ids"),
        pytest.param(CANVAS, "ada@example.org", "s101", id="canvas-email"),
        pytest.param(CANVAS, "Ada Lovelace_77_assignsubmission_file_", "s101", id="full-name"),
        pytest.param(STUDENTS, "lovelaceada_101_9_x.py", "s101", id="students-number"),
        pytest.param(STUDENTS, "Alan Turing_77_assignsubmission_file_", "s102", id="students-name"),
        pytest.param(STUDENTS, "s102", "s102", id="students-id"),
        pytest.param(STUDENTS, "turingalan_999_9_x.py", None, id="another-number"),
        pytest.param(STUDENTS, "Ada Lovelace_101_assignsubmission_file_", "s101", id="not-moodles"),
        pytest.param(CLASSROOM, "octo-cat", "0012", id="classroom-login"),
        pytest.param(CLASSROOM, "Octo-Cat", "0012", id="classroom-case"),
        pytest.param(CLASSROOM, "0014", "0014", id="classroom-not-linked"),
        pytest.param(CANVAS, "alan_555_9_x.py", None, id="a-name-that-is-a-login"),
        pytest.param(CANVAS, "eve_555_9_s101_101_9_x.py", None, id="number-in-the-file-name"),
    ],
)
def test_finds_a_student(read: Read, text: str, name: str, student: str | None):
    """A student is found by Canvas's number, or by id, address or full name."""
    person = read(text).find(parse_download_name(name))

    assert (person.student if person else None) == student


def test_the_gradebook_chooses_among_canvas_ids(read: Read):
    """A gradebook that imported logins keeps them, although Canvas also has SIS ids."""
    roster = read(CANVAS, known=("ada@example.org",))

    assert [person.student for person in roster.people] == ["ada@example.org", "alan", "103"]


def test_keeps_names_for_the_gradebook(read: Read):
    """The roster keeps names for formgrader and the exports."""
    person = read(CANVAS).people[0]

    assert (person.first_name, person.last_name) == ("Ada", "Lovelace")
    assert (person.email, person.number) == ("ada@example.org", "101")


def test_two_people_of_one_name_are_not_guessed(read: Read):
    """A name that two people in the roster share identifies neither."""
    roster = read("id,first_name,last_name\na,Ada,L\nb,Ada,L\n")

    assert roster.find(parse_download_name("Ada L_7_assignsubmission_file_")) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("name,points\nAda,1\n", "is not a roster: its columns are", id="other-file"),
        pytest.param("", "is not a roster: its columns are none", id="empty"),
        pytest.param("id\na\na\n", "has two students with the id a", id="one-id-twice"),
        pytest.param('id\n"a\n', "is not a CSV file", id="open-quote"),
    ],
)
def test_refuses_what_is_not_a_roster(read: Read, text: str, says: str):
    """The message about an invalid roster names the file and what to use instead."""
    with pytest.raises(UsageError, match=says):
        read(text)


@pytest.mark.parametrize(
    ("text", "column", "ids"),
    [
        pytest.param(CANVAS, "SIS Login ID", ["ada@example.org", "alan", "103"], id="canvas-login"),
        pytest.param(CANVAS, "ID", ["101", "102", "103"], id="canvas-number"),
        pytest.param(STUDENTS, "email", ["ada@example.org"], id="students-email"),
    ],
)
def test_a_column_is_chosen_as_the_id(read: Read, text: str, column: str, ids: list[str]):
    """The id is taken from the chosen column, and the other ids find the same person."""
    roster = read(text, id_column=column)
    found = roster.find(parse_download_name("s101"))

    assert [person.student for person in roster.people] == ids
    assert found is not None
    assert found.student == ids[0]


def test_a_worksheet_goes_with_a_roster(tmp_path: Path):
    """Moodle's worksheet, in any language, gives the address of a number; a roster the student."""
    (tmp_path / "students.csv").write_text(STUDENTS)
    (tmp_path / "worksheet.csv").write_text(WORKSHEET, "utf-8-sig")
    roster = Roster.read_all([tmp_path / "worksheet.csv", tmp_path / "students.csv"])
    renamed = parse_download_name("Somebody_11_assignsubmission_file_")

    assert roster.identify(renamed) == "s101"
    assert not roster.finds_by_name_alone(renamed)


def test_two_rosters_are_refused(tmp_path: Path):
    """A second file of students is an error, because their ids may differ."""
    (tmp_path / "students.csv").write_text(STUDENTS)

    with pytest.raises(UsageError, match="one file of students and one grading worksheet"):
        Roster.read_all([tmp_path / "students.csv"] * 2)


def test_a_missing_column_is_named_with_the_columns_that_exist(read: Read):
    """The message about an unknown column lists the columns that exist."""
    with pytest.raises(
        UsageError, match=r"no column 'Login', which --id-column names. Its columns are .*ID"
    ):
        read(CANVAS, id_column="Login")


NAMES = {"a1": "Anna Smith", "a2": "Anna Smithson", "b": "Bob O'Brien", "smith": ""}


@pytest.mark.parametrize(
    ("wanted", "student"),
    [
        pytest.param("a1", "a1", id="id"),
        pytest.param("smith", "smith", id="id-before-name"),
        pytest.param("SMITHSON anna", "a2", id="words-in-any-order"),
        pytest.param("brien", "b", id="part-of-a-name"),
    ],
)
def test_a_student_is_found_by_id_or_name(wanted: str, student: str):
    """An id is found first, then the only student whose name or id has all words."""
    assert find_student(wanted, NAMES, NAMES) == student


@pytest.mark.parametrize(
    ("wanted", "names", "words"),
    [
        pytest.param("anna", NAMES, r"could be Anna Smith \(a1\), Anna Smithson", id="several"),
        pytest.param("eve", NAMES, r"no student 'eve'\.$", id="nobody"),
        pytest.param("eve", {}, r"--roster or --gradebook adds the names", id="no-names"),
        pytest.param(" ", NAMES, r"no student", id="blank"),
    ],
)
def test_an_unclear_student_is_not_guessed(wanted: str, names: dict[str, str], words: str):
    """The message about an unclear name lists the students who fit, or how to add names."""
    with pytest.raises(UsageError, match=words):
        find_student(wanted, NAMES, names)
