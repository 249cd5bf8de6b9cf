"""Tests that the submission of a group counts for each member."""

import pytest
from msgspec.structs import replace

from autograder.errors import UsageError
from autograder.exports.grade_table import GradeTable, StageColumn, share_scores
from autograder.submission.roster import Groups, Member
from tests.kit.factories import row, table_of_rows

MEMBERS = {
    "101": Member(student="ada", group="P1", first_name="Ada", last_name="King"),
    "102": Member(student="ben", group="P1", first_name="Ben", last_name="Ames"),
    "103": Member(student="cy", group="P2"),
}
GROUPS = Groups(MEMBERS, {member.student: member for member in MEMBERS.values()})


def scores(table: GradeTable) -> dict[str, float | None]:
    """The scores in the one stage by student."""
    return {
        one.student: one.scores["01_tiny"].score if "01_tiny" in one.scores else None
        for one in table.rows
    }


@pytest.mark.parametrize("student", ["ada", "projectgroup1_101"])
def test_each_member_has_the_score(student: str):
    """The member who submitted is found by id, or by the number in the name of the download."""
    shared = share_scores(table_of_rows(row(student, 7.5), row("zoe", 3.0)), GROUPS)

    assert scores(shared) == {student: 7.5, "zoe": 3.0, "ben": 7.5}
    assert shared.rows[-1].first_name == "Ben"


def test_a_member_who_is_known_keeps_one_row():
    """A member who has a row in the gradebook but no submission gets no second row."""
    known = replace(row("ben", email="ben@example.org"), scores={})
    shared = share_scores(table_of_rows(row("ada", 7.5), known), GROUPS)

    assert scores(shared) == {"ada": 7.5, "ben": 7.5}
    assert shared.rows[1].email == "ben@example.org"


def test_two_submissions_of_one_group_are_not_guessed():
    """If two members submitted, each keeps their own score, and a remark names both."""
    shared = share_scores(table_of_rows(row("ada", 7.5), row("ben", 3.0)), GROUPS)

    assert scores(shared) == {"ada": 7.5, "ben": 3.0}
    assert shared.remarks == ("P1: ada, ben submitted, so each keeps their own score",)


def test_groups_are_of_one_assignment():
    """Groups with several stages are refused, because they belong to one assignment."""
    stages = (StageColumn("01_tiny", "Tiny", 10.0), StageColumn("02_more", "More", 10.0))

    with pytest.raises(UsageError, match="--stage"):
        share_scores(GradeTable(stages=stages, rows=()), GROUPS)
