"""Reads the groups of students who submit together from Canvas's export of a group set.

*People → Groups → Import → Download course roster CSV* has one row for each student.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, Self

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


class SharedWork(NamedTuple):
    """The members of a *group* who submitted something, and the others by their ids."""

    group: str
    submitters: tuple[str, ...]
    others: Mapping[str, Member]


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

    def shared(
        self, submitted: Collection[str], known: Iterable[str], number: Callable[[str], str]
    ) -> list[SharedWork]:
        """Return the work of each group of which a member is in *submitted*.

        *known* are other ids of the course, and *number* returns the number in Canvas in an id.
        """
        ids: dict[str, str] = {}
        own: dict[str, list[str]] = {}
        for student in dict.fromkeys((*known, *submitted)):
            if member := self.find(student, number(student)):
                ids[member.student] = student
                if student in submitted:
                    own.setdefault(member.group, []).append(student)
        members = [(ids.get(one.student, one.student), one) for one in self.by_number.values()]
        return [
            SharedWork(
                group,
                tuple(students),
                {
                    student: member
                    for student, member in members
                    if member.group == group and student not in students
                },
            )
            for group, students in own.items()
        ]


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
