"""Assigns the entries of a class to students; sets aside entries of unclear owners."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import overload

import msgspec
from msgspec.structs import replace

from autograder.errors import UsageError
from autograder.sanitize import name_and_id
from autograder.submission.assemble import (
    Submission,
    note_missing_lab,
    submissions,
    without_files_of,
)
from autograder.submission.entries import Entries, class_inside, holds_several
from autograder.submission.files import StudentWork, abbreviated_list, visible
from autograder.submission.groups import Groups
from autograder.submission.names import ParsedName, StageResolver, find_lms, parse_download_name
from autograder.submission.place import Entry, open_entries
from autograder.submission.roster import Person, Roster
from autograder.submission.worksheet import Worksheet

_MOODLE = "Moodle"
_NAMES_ARE_EDITED = (
    "Students were identified by their full names in Moodle, which they may be able to edit: "
    "--worksheet compares the names with the numbers in Moodle's grading worksheet."
)
_LOOK = "Set aside and not graded: look at it, and pass the correct submission to this command."
_MAX_NAMED = 5  # names in a sentence
_Claims = dict[str, list[str]]  # the names of the entries of each student


class FindOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The instructor's options for finding students at a path.

    *unwrap* states whether a zip, or the only entry of a folder, belongs to a class (true) or to a
    student. With ``None``, the contents of a zip decide, and a folder's only entry belongs to a
    class if the roster has everybody in it but not the entry itself.
    """

    roster: Roster | None = None
    worksheet: Worksheet | None = None  # of the assignment, from Moodle
    groups: Groups | None = None  # of the assignment, from Canvas
    unwrap: bool | None = None


NOTHING_SAID = FindOptions()


class LazyWorks(Sequence[StudentWork]):
    """The files of each student of a class, listed on each access and not kept in memory."""

    def __init__(self, entries: Entries, lms: str) -> None:
        self._entries = entries
        self._lms = lms
        self._students: list[str] = []
        self._names: list[str] = []  # names of all students' entries
        self._ends = array("L")  # where the names of each student end

    def append(self, student: str, names: Iterable[str]) -> None:
        """Add the entries called *names* as the work of *student*."""
        self._students.append(student)
        self._names.extend(names)
        self._ends.append(len(self._names))

    def __len__(self) -> int:
        return len(self._students)

    @overload
    def __getitem__(self, index: int) -> StudentWork: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[StudentWork]: ...

    def __getitem__(self, index: int | slice) -> StudentWork | Sequence[StudentWork]:
        """List the files of a student."""
        at = range(len(self))[index]
        if isinstance(at, range):
            return [self[one] for one in at]
        names = self._names[self._ends[at - 1] if at else 0 : self._ends[at]]
        return open_entries(self._students[at], map(self._entries.open_entry, names), self._lms)


class FoundSubmissions(msgspec.Struct, frozen=True, kw_only=True):
    """The submissions found at a path, by student, and the entries that were set aside."""

    what: str  # one line about the recognized form of the path
    works: Sequence[StudentWork]
    resolver: StageResolver
    is_class: bool = False
    set_aside: tuple[str, ...] = ()  # sentences about submissions of nobody or of several people
    remarks: tuple[str, ...] = ()

    def submissions(self) -> Iterator[Submission]:
        """Yield the submissions, sorted by student, then in the order of the stages."""
        for work in self.works:
            yield from self.submissions_of(work)

    def submissions_to_grade(self, work: StudentWork) -> Iterator[Submission]:
        """Read the submissions of one student, with a notice if a lab is missing."""
        for submission in self.submissions_of(work):
            yield note_missing_lab(submission, self.resolver.stages)

    def submissions_of(self, work: StudentWork) -> Iterator[Submission]:
        """Read the submissions of one student."""
        stage = self.resolver.only or self.resolver.enclosing
        if stage is None or not work.by_lms:
            yield from submissions(work, self.resolver)
            return
        # All files submitted for one assignment belong to one stage, under any name.
        resolver = replace(self.resolver, only=stage, enclosing=stage)
        yield next(submissions(work, resolver), None) or without_files_of(stage, work)


class ClassDivision:
    """Divides the entries of a class at *path* among its students."""

    def __init__(
        self, path: Path, entries: Entries, resolver: StageResolver, options: FindOptions
    ) -> None:
        self._path = path
        self._entries = entries
        self._resolver = resolver
        self._options = options
        self._lms = find_lms(entries.names)
        self._set_aside: list[str] = []
        self._remarks: list[str] = []

    def found(self) -> FoundSubmissions:
        """Return the work of each student."""
        self._require_right_worksheet()
        claims = self._claims()
        self._remarks += self._absent(claims)
        works = LazyWorks(self._entries, self._lms)
        late = 0
        for student in sorted(claims):
            names = claims.pop(student)
            if not self._is_of_one(names):
                shown = ", ".join(abbreviated_list(names, _MAX_NAMED))
                self._set_aside.append(f"{student}: {shown} claim one student. {_LOOK}")
                continue
            works.append(student, names)
            late += any(parse_download_name(name, self._lms).is_late for name in names)
        number = f"{len(works)} student{'s' * (len(works) != 1)}"
        origin = f"a download from {self._lms}" if self._lms else "a class"
        return FoundSubmissions(
            what=f"{visible(self._path.name)}: {origin}, {number}" + f", {late} late" * bool(late),
            works=works,
            resolver=self._resolver,
            is_class=True,
            set_aside=tuple(self._set_aside),
            remarks=tuple(self._remarks),
        )

    def _claims(self) -> "_Claims":
        """Return, for each student, the names of the entries, except those that are set aside."""
        roster = self._options.roster
        claims: _Claims = {}
        unknown, nobodys = [], []
        found_by_name = False
        for entry in self._entries:
            parsed = entry.parse_name(self._lms)
            if not is_work(entry, parsed):
                nobodys.append(entry.name)
                continue
            person = roster.find(parsed) if roster else None
            if doubt := self._doubt(entry, parsed, is_known=person is not None):
                self._set_aside.append(f"{visible(entry.name)}: {doubt} {_LOOK}")
                continue
            if roster and not person:
                unknown.append(parsed)
            found_by_name |= person is not None and parsed.lms == _MOODLE
            # If student and entry have the same name, one string for both saves memory.
            student = person.student if person else parsed.student
            student = entry.name if student == entry.name else student
            claims.setdefault(student, []).append(entry.name)
        self._remarks += not_in_roster(unknown)
        if nobodys:
            shown = ", ".join(abbreviated_list(nobodys, _MAX_NAMED))
            self._remarks.append(f"Not submissions, so not read: {shown}")
        if found_by_name and not self._options.worksheet:
            self._remarks.append(_NAMES_ARE_EDITED)
        return _by_number(claims, self._lms) if self._lms else claims

    def _absent(self, claims: _Claims) -> Iterator[str]:
        """Yield a sentence about the students of the roster for whom nobody submitted anything."""
        roster, groups = self._options.roster, self._options.groups
        people = roster.people if roster else ()
        group_of = {one.student: _group(groups, one) for one in people}
        submitted = {group_of.get(student, "") for student in claims} - {""}
        absent = [
            name_and_id(one.full_name, one.student)
            for one in people
            # The test student of Canvas has only a number.
            if one.identifiers
            and one.student not in claims
            and group_of[one.student] not in submitted
        ]
        if absent:
            who = "1 student" if len(absent) == 1 else f"{len(absent)} students"
            hint = "" if groups else " If groups submit together, add --groups."
            yield f"{who} of the roster submitted nothing: {', '.join(sorted(absent))}.{hint}"

    def _doubt(self, entry: Entry, parsed: ParsedName, *, is_known: bool) -> str:
        """Return why the owner of *entry* is unclear; empty if it is clear."""
        if self._lms == _MOODLE and entry.kind == "folder" and parsed.file:
            return "it is unclear to whom the folder belongs."
        if parsed.lms == _MOODLE and self._options.worksheet:
            return self._options.worksheet.doubt(parsed, is_found_by_name=is_known)
        if parsed.by_lms or is_known or self._options.unwrap is False:
            return ""
        inner = class_inside(self._path / entry.name, self._resolver)
        return "it contains the submissions of a whole class." if holds_several(inner) else ""

    def _is_of_one(self, names: Sequence[str]) -> bool:
        """Return whether the entries called *names* all belong to one student."""
        found = [self._entries.open_entry(name) for name in names]
        parsed_names = [entry.parse_name(self._lms) for entry in found]
        owners = {replace(parsed, file="", is_late=False, upload=0) for parsed in parsed_names}
        are_of_lms = all(parsed.by_lms for parsed in parsed_names)
        return len(owners) == 1 and (are_of_lms or _belong_together(found))

    def _require_right_worksheet(self) -> None:
        """Raise ``UsageError`` if the worksheet belongs to a different assignment."""
        worksheet = self._options.worksheet
        if worksheet is None:
            return
        numbers = {parse_download_name(name, self._lms).number for name in self._entries.names}
        if self._lms != _MOODLE or not numbers & worksheet.rows.keys():
            msg = (
                f"No student in {visible(self._path.name)} has a number from the worksheet. Pass "
                "the worksheet of the same assignment in Moodle."
            )
            raise UsageError(msg)


def _group(groups: Groups | None, person: Person) -> str:
    member = groups.find(person.student, person.number) if groups else None
    return member.group if member else ""


def is_work(entry: Entry, parsed: ParsedName) -> bool:
    """Return whether *entry* can be a submission, by its kind or because an LMS named it."""
    return parsed.by_lms or entry.kind != "other"


def _by_number(claims: _Claims, lms: str) -> _Claims:
    """Merge students with the same number in the LMS, because only one of their names is real."""
    joined: _Claims = {}
    by_number: dict[str, str] = {}
    for student, names in claims.items():
        for name in names:
            number = parse_download_name(name, lms).number
            first = by_number.setdefault(number, student) if number else student
            joined.setdefault(first, []).append(name)
    return joined


def _belong_together(entries: Sequence[Entry]) -> bool:
    """Return whether *entries* can be one submission: module and notebook, or folder and zip."""
    kinds = [entry.kind for entry in entries]
    suffixes = [PurePosixPath(entry.name).suffix.lower() for entry in entries]
    is_code = set(kinds) == {"code"} and len(set(suffixes)) == len(suffixes)
    return len(entries) == 1 or is_code or sorted(kinds) == ["archive", "folder"]


def not_in_roster(unknown: Iterable[ParsedName]) -> tuple[str, ...]:
    """Return a sentence for each student in *unknown*, which the roster does not have."""
    students = dict.fromkeys(parsed.student for parsed in unknown)
    return tuple(f"{student}: not in the roster, so this id is used" for student in students)
