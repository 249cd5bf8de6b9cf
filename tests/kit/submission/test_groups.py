"""Tests reading Canvas's export of a group set."""

from pathlib import Path

import pytest

from autograder.errors import UsageError
from autograder.submission.groups import Groups

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
    found = [(one.student, one.first_name, one.last_name) for one in groups.members("Project 1")]

    assert found == [("s101", "Ada", "Lovelace"), ("jean", "Jr., Jean", "de la Cruz")]


def test_another_file_is_refused(tmp_path: Path):
    """A file that is not Canvas's group file is refused with the place of that file."""
    file = tmp_path / "canvas.csv"
    file.write_text("Student,ID,Section\nAda,1,A\n")

    columns = r"its columns are Student, ID, Section\. .*Course Roster CSV"
    with pytest.raises(UsageError, match=columns):
        Groups.read(file)


def test_members_have_the_submitter_of_their_group(groups: Groups):
    """Only if one member submitted, the others are mapped to that member, by known ids."""
    number = {"ada": "101", "project1_102": "102"}.get

    def submitters(*students: str) -> dict[str, str]:
        return groups.submitters(students, ("project1_102",), lambda one: number(one, ""))

    assert submitters("ada") == {"project1_102": "ada"}
    assert submitters("ada", "project1_102") == {}
    assert submitters("s103") == {}
