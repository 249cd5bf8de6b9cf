"""Tests reading Canvas's export of a group set."""

from pathlib import Path

import pytest

from autograder.errors import UsageError
from autograder.submission.roster import Groups

HEAD = "name,canvas_user_id,user_id,login_id,sections,group_name,canvas_group_id,group_id\n"
ROWS = (
    "Ada Lovelace,101,s101,ada,A,Project 1,9,\n"
    '"de la Cruz, Jr., Jean",102,,jean,A,Project 1,9,\n'
    "Eve Adams,103,s103,eve,A,,,\n"
)


@pytest.fixture
def groups(tmp_path: Path) -> Groups:
    """Two students in one group, and one without a group."""
    file = tmp_path / "groups.csv"
    file.write_text(HEAD + ROWS, "utf-8")
    return Groups.read(file)


@pytest.mark.parametrize(
    ("student", "number", "group"),
    [
        pytest.param("s101", "", "Project 1", id="sis-id"),
        pytest.param("ADA", "", "Project 1", id="login-in-any-case"),
        pytest.param("project1_102", "102", "Project 1", id="number"),
        pytest.param("s103", "103", None, id="without-a-group"),
        pytest.param("bob", "", None, id="unknown"),
    ],
)
def test_a_member_is_found(groups: Groups, student: str, number: str, group: str | None):
    """A member has three ids, and a student without a group is not a member."""
    member = groups.find(student, number)

    assert (member.group if member else None) == group


def test_the_members_of_a_group_have_ids_and_names(groups: Groups):
    """A member's id is the SIS id, or the login if there is no SIS id."""
    (work,) = groups.shared(["zoe_101"], (), lambda one: one[-3:])
    first, (second,) = groups.find("s101"), work.others.values()
    found = [(one.student, one.first_name, one.last_name) for one in (first, second)]

    assert found == [("s101", "Ada", "Lovelace"), ("jean", "Jr., Jean", "de la Cruz")]


def test_another_file_is_refused(tmp_path: Path):
    """A file that is not Canvas's group file is refused with the place of that file."""
    file = tmp_path / "canvas.csv"
    file.write_text("Student,ID,Section\nAda,1,A\n")

    columns = r"its columns are Student, ID, Section\. .*Course Roster CSV"
    with pytest.raises(UsageError, match=columns):
        Groups.read(file)


def test_the_others_of_a_group_are_found_by_known_ids(groups: Groups):
    """The work of a group has those who submitted it, and all others by the ids of the course."""
    number = {"ada": "101", "project1_102": "102"}.get

    def shared(*students: str) -> list[tuple]:
        works = groups.shared(students, ("project1_102",), lambda one: number(one, ""))
        return [(work.group, work.submitters, list(work.others)) for work in works]

    assert shared("ada") == [("Project 1", ("ada",), ["project1_102"])]
    assert {*shared("ada", "project1_102")[0][1]} == {"ada", "project1_102"}
    assert shared("s103") == []
