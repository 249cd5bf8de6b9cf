"""Reads the groups of students who submit together from Canvas's export of a group set.

*People → Groups → Import → Download course roster CSV* has one row for each student.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Self

import msgspec

from autograder.errors import UsageError
from autograder.submission.names import comparison_key, student_id
from autograder.submission.roster import csv_rows, shown_columns

_COLUMNS = ("canvas_user_id", "group_name")


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A member of a group; *student* is the id to use if the course has no other one."""

    student: str
    group: str
    first_name: str = ""
    last_name: str = ""


class Groups(msgspec.Struct, frozen=True):
    """The members of all groups, by their number in Canvas, and by the keys of their other ids."""

    by_number: Mapping[str, Member]
    by_identifier: Mapping[str, Member]

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read the export of a group set; raise ``UsageError`` if that fails."""
        rows = csv_rows(file)
        header = list(rows[0]) if rows else []
        if not set(_COLUMNS) <= set(header):
            msg = (
                f"{file} is not an export of groups: its columns are {shown_columns(header)}. "
                "Download it in Canvas: People, the group set, Import, Download Course Roster CSV."
            )
            raise UsageError(msg)
        grouped = [(row, _member(row)) for row in rows if row.get("group_name")]
        return cls(
            by_number={row["canvas_user_id"]: member for row, member in grouped},
            by_identifier={
                comparison_key(row[column]): member
                for row, member in grouped
                for column in ("login_id", "user_id")
                if row.get(column)
            },
        )

    def find(self, student: str, number: str = "") -> Member | None:
        """Return the member with the id *student* or with *number* in Canvas, or None."""
        return self.by_identifier.get(comparison_key(student)) or self.by_number.get(number)

    def of(self, student: str, number: str = "") -> list[Member]:
        """Return the entries about *student*, also if ``Member.student`` is the only id."""
        found = self.find(student, number)
        same = [member for member in self.by_number.values() if member.student == student]
        return [found] if found else same

    def submitters(
        self, submitted: Collection[str], known: Iterable[str], number: Callable[[str], str]
    ) -> dict[str, str]:
        """Return, for each other member of a group, the only member in *submitted*.

        *known* are the ids of the course, and *number* returns the number in Canvas in an id.
        """
        ids = {}
        own: dict[str, list[str]] = {}
        for student in dict.fromkeys((*known, *submitted)):
            if member := self.find(student, number(student)):
                ids[member.student] = student
        for student in submitted:
            if member := self.find(student, number(student)):
                own.setdefault(member.group, []).append(student)
        return {
            ids.get(member.student, member.student): own[member.group][0]
            for member in self.by_number.values()
            if len(own.get(member.group, ())) == 1
            and ids.get(member.student, member.student) != own[member.group][0]
        }

    def members(self, group: str) -> list[Member]:
        """Return all students of *group*."""
        return [member for member in self.by_number.values() if member.group == group]


def _member(row: Mapping[str, str]) -> Member:
    ids = (row.get("user_id"), row.get("login_id"), row.get("canvas_user_id"))
    last, comma, first = row.get("name", "").partition(", ")
    if not comma:
        first, _, last = row.get("name", "").rpartition(" ")
    return Member(
        student=student_id(next(filter(None, ids), "")),
        group=row["group_name"],
        first_name=first,
        last_name=last,
    )
