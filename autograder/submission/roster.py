"""Finds the course's student for a name or id in a download from an LMS, and the student's group.

A roster is the gradebook that Canvas exports (*Grades → Export*), nbgrader's ``students.csv``, in
which ``lms_user_id`` is the student's number in the LMS, or the roster of GitHub Classroom.
Moodle's grading worksheet is read with it: a download from Moodle has the participants' numbers and
names, and students may edit their names. Groups come from Canvas's export of a group set (*People →
Groups → Import → Download course roster CSV*), which has one row for each student.
"""

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec

from autograder.errors import UsageError
from autograder.sanitize import MAX_SENTENCE, MAX_WORD, line, name_and_id
from autograder.submission.files import reason
from autograder.submission.names import ParsedName, comparison_key, known_prefix, student_id

MAX_ROSTER = 16 * 2**20  # bytes; a gradebook of 1000 students and 200 columns has two MiB
PARTICIPANT: Final = re.compile(r"(\D+)(\d+)", re.DOTALL)  # a word in any language, and a number
_CANVAS_IDS = ("SIS User ID", "SIS Login ID", "ID")


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the roster; *student* is the id in the course."""

    student: str
    number: str = ""  # the student's number in the LMS
    identifiers: frozenset[str] = frozenset()  # keys of all other ids
    first_name: str = ""
    last_name: str = ""
    email: str = ""

    @property
    def full_name(self) -> str:
        """The first and last name, as far as they are known."""
        return f"{self.first_name} {self.last_name}".strip()

    @property
    def names(self) -> frozenset[str]:
        """Keys of the full name in all orders in which systems write it."""
        first, last = self.first_name, self.last_name
        written = (f"{first} {last}", f"{last} {first}", f"{last}, {first}", f"{last}{first}")
        return frozenset(map(_comparable, written)) - {"", ","}


class Roster(msgspec.Struct, frozen=True, dict=True):
    """The students of a course, from files or from the gradebook.

    *worksheet* has the cells of each participant of a Moodle assignment, by number. *file* is the
    file of the students, if there is one.
    """

    people: tuple[Person, ...]
    worksheet: Mapping[str, frozenset[str]] = {}
    file: str = ""

    @classmethod
    def read(cls, file: Path, known: Collection[str] = (), id_column: str = "") -> Self:
        """Read a roster or a worksheet; raise ``UsageError`` if that fails.

        Canvas has three ids for each student, and GitHub Classroom two. The one in *id_column* is
        used, else the one that is in *known*, the ids of the gradebook.
        """
        rows = csv_rows(file)
        header = list(rows[0]) if rows else []
        if {"Section", "ID"} <= set(header):
            people = [_of_canvas(row, known, id_column) for row in rows]
        elif {"identifier", "github_username"} <= set(header):
            people = [_of_classroom(row, known, id_column) for row in rows]
        elif "id" in header:
            people = [person_of_nbgrader(row, id_column or "id") for row in rows]
        elif participants := _participants(rows):
            return cls((), participants)
        else:
            raise UsageError(
                f"{file} is not a roster: its columns are {shown_columns(header)}. "
                "Export the gradebook in Canvas (Grades, Export, Entire Gradebook), or use "
                "nbgrader's students.csv (id,first_name,last_name,email,lms_user_id), the roster "
                "of GitHub Classroom (identifier,github_username), or Moodle's grading worksheet."
            )
        _require_column(file, header, id_column)
        return cls(tuple(_unique(filter(None, people), file)), file=str(file))

    @classmethod
    def read_all(
        cls, files: Sequence[Path], known: Collection[str] = (), id_column: str = ""
    ) -> Self:
        """Read a roster, a worksheet or both; raise ``UsageError`` if that fails."""
        rosters = [cls.read(file, known, id_column) for file in files]
        people = [roster for roster in rosters if not roster.worksheet]
        worksheets = [roster.worksheet for roster in rosters if roster.worksheet]
        if len(people) > 1 or len(worksheets) > 1:
            msg = "--roster takes one file of students and one grading worksheet of Moodle."
            raise UsageError(msg)
        found = people[0] if people else cls(())
        return cls(found.people, worksheets[0] if worksheets else {}, found.file)

    @property
    def names(self) -> dict[str, str]:
        """The known full names by id."""
        return {one.student: one.full_name for one in self.people if one.full_name}

    def identify(self, name: ParsedName) -> str:
        """Return the id of the person that *name* matches, else the id in the name itself."""
        person = self.find(name)
        return person.student if person else name.student

    def find(self, name: ParsedName) -> Person | None:
        """Return the only person that *name* matches; None if there is none or more than one.

        In a download from Canvas only the number counts. In one from Moodle, whose numbers differ
        by assignment, the address in the worksheet counts, else the full name. Elsewhere, the id,
        the address or the full name must match.
        """
        if name.platform == "canvas":
            return _only(self._by_number.get(name.number, ()))
        if name.platform == "moodle":
            return self._by_email(name) or self._by_full_name(name)
        keys = map(_comparable, filter(None, (name.student, name.email, name.name)))
        return next(filter(None, (_only(self._by_key.get(key, ())) for key in keys)), None)

    def finds_by_name_alone(self, name: ParsedName) -> bool:
        """Return whether only a name that students may edit in Moodle finds the person."""
        return (
            name.platform == "moodle" and not self._by_email(name) and self.find(name) is not None
        )

    def prefix_of(self, names: Iterable[str]) -> str | None:
        """Return the prefix after which most *names* are ids of this roster; None: no name is."""
        return known_prefix(names, self._by_key.keys(), max(map(len, self._by_key), default=0))

    def _by_email(self, name: ParsedName) -> Person | None:
        cells = self.worksheet.get(name.number, ())
        addresses = [cell for cell in cells if "@" in cell]
        return _only(person for one in addresses for person in self._by_key.get(one, ()))

    def _by_full_name(self, name: ParsedName) -> Person | None:
        if self.worksheet:
            cells: Iterable[str] = self.worksheet.get(name.number, ())
        else:
            cells = (_comparable(name.name),)
        return _only(person for cell in cells for person in self._by_name.get(cell, ()))

    @cached_property
    def _by_number(self) -> "_Index":
        return _index((person, [person.number]) for person in self.people if person.number)

    @cached_property
    def _by_name(self) -> "_Index":
        return _index((person, person.names) for person in self.people)

    @cached_property
    def _by_key(self) -> "_Index":
        return _index((person, person.identifiers | person.names) for person in self.people)


_Index = Mapping[str, list[Person]]


def _index(keys: Iterable[tuple[Person, Iterable[str]]]) -> _Index:
    found: dict[str, list[Person]] = defaultdict(list)
    for person, values in keys:
        for value in values:
            found[value].append(person)
    return dict(found)


def _only(people: Iterable[Person]) -> Person | None:
    """Return the only person in *people*, who may be in it several times."""
    found = {person.student: person for person in people}
    return next(iter(found.values())) if len(found) == 1 else None


def find_student(wanted: str, students: Iterable[str], names: Mapping[str, str]) -> str:
    """Return the only student with the id *wanted*, or with all its words; raise ``UsageError``."""
    known = {student: names.get(student, "") for student in students}
    if wanted in known:
        return wanted
    words = _comparable(wanted).split()
    found = [
        student
        for student, name in known.items()
        if words and all(word in _comparable(f"{name} {student}") for word in words)
    ]
    if len(found) == 1:
        return found[0]
    who = repr(line(wanted, MAX_WORD))
    if found:
        shown = ", ".join(name_and_id(known[one], one) for one in found)
        raise UsageError(f"{who} could be {shown}. Give the id of one student.")
    hint = "" if any(known.values()) else " --roster or --gradebook adds the names."
    raise UsageError(f"There is no student {who}.{hint}")


def csv_rows(file: Path) -> list[dict[str, str]]:
    """Return the stripped rows of a CSV file by column; raise ``UsageError`` if that fails."""
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_ROSTER + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file} can't be read: {reason(error)}.") from error
    except UnicodeDecodeError:
        msg = f"{file} is not UTF-8. Download it again, or save it as “CSV UTF-8”."
        raise UsageError(msg) from None
    head = text.partition("\n")[0]
    delimiter = max(",;", key=head.count)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        return [
            {
                str(key).strip(): value.strip()
                for key, value in row.items()
                if isinstance(value, str)
            }
            for row in reader
        ]
    except csv.Error as error:
        raise UsageError(f"{file} is not a CSV file: {error}.") from None


def shown_columns(header: Iterable[str], most: int = MAX_WORD) -> str:
    """List the columns of a file in their order, in at most *most* characters."""
    return line(", ".join(filter(None, header)), most) or "none"


def _require_column(file: Path, header: Collection[str], id_column: str) -> None:
    if id_column and id_column not in header:
        shown = shown_columns(header, MAX_SENTENCE)
        raise UsageError(
            f"{file} has no column {id_column!r}, which --id-column names. Its columns are {shown}."
        )


def _of_canvas(row: Mapping[str, str], known: Collection[str], id_column: str) -> Person | None:
    number = row.get("ID", "")
    if not number.isdigit():  # the rows for points and manual posting have none
        return None
    ids = [student_id(row[name]) for name in _CANVAS_IDS if row.get(name)]
    chosen = next((one for one in ids if one in known), ids[0])
    if row.get(id_column):
        chosen = student_id(row[id_column])
    last, _, first = row.get("Student", "").partition(", ")
    if row.get("LastName"):
        last, first = row["LastName"], row.get("FirstName", "")
    login = row.get("SIS Login ID", "")
    return Person(
        student=chosen,
        number=number,
        # The last id is the number in Canvas, which is not an id of the course.
        identifiers=frozenset(map(_comparable, ids[:-1])),
        first_name=first,
        last_name=last,
        email=login if "@" in login else "",
    )


def _of_classroom(row: Mapping[str, str], known: Collection[str], id_column: str) -> Person | None:
    """Return the person in a row of GitHub Classroom, whose login is empty until it is linked."""
    if not row["identifier"]:
        return None
    ids = [student_id(row[name]) for name in ("identifier", "github_username") if row[name]]
    chosen = next((one for one in ids if one in known), ids[0])
    first, _, last = row.get("name", "").rpartition(" ")
    return Person(
        student=student_id(row[id_column]) if row.get(id_column) else chosen,
        number=row["github_username"],
        identifiers=frozenset(map(_comparable, ids)),
        first_name=first,
        last_name=last,
        email=row["identifier"] if "@" in row["identifier"] else "",
    )


def _participants(rows: Sequence[Mapping[str, str]]) -> dict[str, frozenset[str]]:
    """Return the cells of each participant in Moodle's worksheet by number; empty for others."""
    for column in list(rows[0])[:1] if rows else ():
        found = [PARTICIPANT.fullmatch(row.get(column, "")) for row in rows]
        if all(found):
            cells = [frozenset(map(_comparable, row.values())) for row in rows]
            numbers = [match[2] for match in found if match]
            return dict(zip(numbers, cells, strict=True))
    return {}


def person_of_nbgrader(row: Mapping[str, str], id_column: str = "id") -> Person | None:
    """Return the person in a row of nbgrader's CSV; None without an id in *id_column*."""
    if not row.get(id_column):
        return None
    email = row.get("email", "")
    return Person(
        student=student_id(row[id_column]),
        number=row.get("lms_user_id", ""),
        identifiers=frozenset(map(_comparable, filter(None, (row["id"], row[id_column], email)))),
        first_name=row.get("first_name", ""),
        last_name=row.get("last_name", ""),
        email=email,
    )


def _unique(people: Iterable[Person], file: Path) -> Iterator[Person]:
    people = list(people)
    for values in ([item.student for item in people], [item.number for item in people]):
        twice = [value for value, count in Counter(filter(None, values)).items() if count > 1]
        if twice:
            msg = f"{file} has two students with the id {line(twice[0], MAX_WORD)}. Keep one."
            raise UsageError(msg)
    yield from people


def _comparable(text: str) -> str:
    return " ".join(comparison_key(text).split())


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
            raise UsageError(
                f"{file} is not an export of groups: its columns are {shown_columns(header)}. "
                "Download it in Canvas: People, the group set, Import, Download Course Roster CSV."
            )
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
