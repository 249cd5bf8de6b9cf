"""Tests that the entries of a class are divided among its students, or set aside."""

import pytest

from autograder.errors import UsageError
from autograder.submission.class_division import FindOptions
from autograder.submission.collect import find
from autograder.submission.groups import Groups, Member
from autograder.submission.roster import Person, Roster
from autograder.submission.worksheet import Worksheet

MODULE = "self_attention.py"
ADA = Person(student="s1", first_name="Ada", last_name="Lovelace")
EVE = Person(student="s2", first_name="Eve", last_name="Adams")
FILE = "_assignsubmission_file_"


@pytest.fixture
def moodle(stages, write, class_, tmp_path):
    """Divide a download from Moodle, with these folders and rows of the worksheet."""

    def divide(folders, rows=(), people=()):
        for folder in folders:
            write(f"{folder}{FILE}/{MODULE}")
        worksheet = None
        if rows:
            lines = [f"Participant {number},{name}\n" for number, name in rows]
            file = tmp_path / "worksheet.csv"
            file.write_text("Identifier,Full name\n" + "".join(lines))
            worksheet = Worksheet.read(file)
        roster = Roster(tuple(people)) if people else None
        return find(class_, stages, options=FindOptions(roster=roster, worksheet=worksheet))

    return divide


def test_a_student_who_takes_anothers_name_is_set_aside(moodle):
    """A name that occurs twice in the worksheet is set aside, even if one has no submission."""
    rows = [("11", "Ada Lovelace"), ("12", "Ada Lovelace"), ("13", "Eve Adams")]
    found = moodle(["Ada Lovelace_12", "Eve Adams_13"], rows, [ADA, EVE])

    assert [one.student for one in found.works] == ["s2"]
    assert found.set_aside[0].startswith(
        f"Ada Lovelace_12{FILE}: the worksheet has this name twice"
    )


def test_a_student_who_renames_between_two_downloads_is_set_aside(moodle):
    """A submission whose name differs from the worksheet's for the number is set aside."""
    rows = [("11", "Ada Lovelace"), ("12", "Mallory")]
    found = moodle(["Ada Lovelace_12"], rows, [ADA])

    assert len(found.works) == 0
    assert "participant 12 has a different name in the worksheet" in found.set_aside[0]


def test_two_of_one_name_in_a_download_are_set_aside(moodle):
    """Two submissions that fit one name of the roster are set aside."""
    found = moodle(["Ada Lovelace_11", "Ada  LOVELACE_12", "Eve Adams_13"], (), [ADA, EVE])

    assert [one.student for one in found.works] == ["s2"]
    assert found.set_aside[0].startswith("s1: Ada  LOVELACE_12")


def test_two_of_one_name_keep_their_numbers_without_a_roster(moodle):
    """Without a roster, two people of one name are two students, with their numbers in the ids."""
    found = moodle(["Ada L_11", "Ada L_12"], [("11", "Ada L"), ("12", "Ada L")])

    assert [one.student for one in found.works] == ["Ada L_11", "Ada L_12"]
    assert found.set_aside == ()


def test_names_that_decide_without_a_worksheet_are_remarked_on(moodle):
    """If names decide without a worksheet, the remark names the option for a worksheet."""
    assert "--worksheet compares the names" in moodle(["Ada Lovelace_11"], (), [ADA]).remarks[0]
    assert moodle([], [("11", "Ada Lovelace")], [ADA]).remarks == ()


def person(student: str, number: str) -> Person:
    """Return a student with a number and an id in Canvas's roster."""
    identifiers = frozenset({student})
    return Person(student=student, number=number, identifiers=identifiers, first_name=student)


def test_students_of_the_roster_without_a_submission_are_named(stages, write, class_):
    """A remark lists the missing students and the option for groups, without Canvas's tester."""
    write(f"adalovelace_1_9_{MODULE}")
    roster = Roster((person("ada", "1"), person("ben", "2"), Person(student="3", number="3")))
    (remark,) = find(class_, stages, options=FindOptions(roster=roster)).remarks

    assert remark.startswith("1 student of the roster submitted nothing: ben (ben).")
    assert "--groups" in remark


def test_a_group_submits_for_its_members(stages, write, class_):
    """Members of a group with a submission are not listed as missing; others are."""
    write(f"project1_1_9_{MODULE}")
    roster = Roster((person("ada", "1"), person("ben", "2"), person("cy", "3")))
    members = {number: Member(student=number, group="P1") for number in ("1", "2")}
    options = FindOptions(roster=roster, groups=Groups(members, {}))
    (remark,) = find(class_, stages, options=options).remarks

    assert remark == "1 student of the roster submitted nothing: cy (cy)."


def test_the_worksheet_of_another_assignment_is_refused(moodle):
    """A worksheet in which no number matches is refused."""
    with pytest.raises(UsageError, match="No student in class has a number from the worksheet"):
        moodle(["Ada Lovelace_11"], [("77", "Ada Lovelace")])


def test_the_list_of_submissions_can_be_cut(stages, write, class_):
    """The list of submissions can be sliced."""
    for name in ("a", "b", "c"):
        write(f"{name}/{MODULE}")

    assert [one.student for one in find(class_, stages).works[1:]] == ["b", "c"]
