"""Tests that the entries of a class are divided among its students, or set aside."""

import pytest
from msgspec.structs import replace

from autograder.errors import UnclearDownloadError
from autograder.submission.class_division import FindOptions
from autograder.submission.collect import find
from autograder.submission.roster import Groups, Member, Person, Roster

MODULE = "self_attention.py"
ADA = Person(
    student="s1", first_name="Ada", last_name="Lovelace", identifiers=frozenset({"ada@x.org"})
)
EVE = Person(
    student="s2", first_name="Eve", last_name="Adams", identifiers=frozenset({"eve@x.org"})
)
FILE = "_assignsubmission_file_"


@pytest.fixture
def moodle(stages, write, class_, tmp_path):
    """Divide a download from Moodle, with these folders and rows of the worksheet."""

    def divide(folders, rows=(), people=()):
        for folder in folders:
            write(f"{folder}{FILE}/{MODULE}")
        worksheet = Roster(())
        if rows:
            lines = [f"Participant {row}\n" for row in rows]
            file = tmp_path / "worksheet.csv"
            file.write_text("Identifier,Full name,Email address\n" + "".join(lines))
            worksheet = Roster.read(file)
        roster = replace(worksheet, people=tuple(people))
        return find(class_, stages, options=FindOptions(roster=roster))

    return divide


def test_the_number_in_the_worksheet_decides(moodle):
    """The number finds the row, and its address the student, although the name was edited."""
    rows = ["11,Ada Lovelace,ada@x.org", "12,Ada Lovelace,eve@x.org"]
    found = moodle(["Ada Lovelace_12"], rows, [ADA, EVE])

    assert [one.student for one in found.works] == ["s2"]
    assert found.remarks[0].startswith("1 student of the roster has nothing in ")


def test_a_match_by_name_alone_is_reported(moodle):
    """A student who is found by name alone is reported, with and without a worksheet."""
    without = moodle(["Ada Lovelace_11"], (), [ADA, EVE])
    with_name = moodle(["Ada Lovelace_11"], ["11,Eve Adams,"], [ADA, EVE])

    assert [one.student for one in without.works] == ["s1"]
    assert without.remarks[0].startswith("Identified by the name alone,")
    assert [one.student for one in with_name.works] == ["s2"]
    assert with_name.remarks[0].startswith("Identified by the name alone,")


def test_a_number_without_a_student_is_the_id(moodle):
    """Without a student of the roster, the id is the name and the number."""
    found = moodle(["Ada L_11", "Ada L_12"], ["11,Ada L,a@x.org", "12,Ada L,b@x.org"])

    assert [one.student for one in found.works] == ["Ada L_11", "Ada L_12"]
    assert found.set_aside == found.remarks == ()


def test_two_of_one_name_in_a_download_are_set_aside(moodle):
    """Two submissions that fit one name of the roster are set aside."""
    found = moodle(["Ada Lovelace_11", "Ada  LOVELACE_12", "Eve Adams_13"], (), [ADA, EVE])

    assert [one.student for one in found.works] == ["s2"]
    assert found.set_aside[0].startswith("s1: Ada  LOVELACE_12")


def person(student: str, number: str) -> Person:
    """Return a student with a number and an id in Canvas's roster."""
    identifiers = frozenset({student})
    return Person(student=student, number=number, identifiers=identifiers, first_name=student)


def test_students_of_the_roster_without_a_submission_are_named(stages, write, class_):
    """A remark lists the missing students and the option for groups, without Canvas's tester."""
    write(f"adalovelace_1_9_{MODULE}")
    roster = Roster((person("ada", "1"), person("ben", "2"), Person(student="3", number="3")))
    (remark,) = find(class_, stages, options=FindOptions(roster=roster)).remarks

    assert remark.startswith(f"1 student of the roster has nothing in {class_.name}: ben (ben).")
    assert "--groups" in remark


def test_a_group_submits_for_its_members(stages, write, class_):
    """Members of a group with a submission are not listed as missing; others are."""
    write(f"project1_1_9_{MODULE}")
    roster = Roster((person("ada", "1"), person("ben", "2"), person("cy", "3")))
    members = {number: Member(student=number, group="P1") for number in ("1", "2")}
    options = FindOptions(roster=roster, groups=Groups(members, {}))
    (remark,) = find(class_, stages, options=options).remarks

    assert remark == f"1 student of the roster has nothing in {class_.name}: cy (cy)."


def test_the_worksheet_of_another_assignment_is_refused(moodle):
    """A worksheet in which no number matches is refused."""
    with pytest.raises(
        UnclearDownloadError, match="No student in class has a number from the worksheet"
    ):
        moodle(["Ada Lovelace_11"], ["77,Ada Lovelace,"])
