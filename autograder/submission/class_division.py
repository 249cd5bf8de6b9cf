"""Assigns the entries of a class to students; sets aside entries of unclear owners."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

import msgspec
from msgspec.structs import replace

from autograder.course import Stage
from autograder.errors import UnclearDownloadError
from autograder.sanitize import name_and_id
from autograder.submission.assemble import (
    Submission,
    note_answers,
    submissions,
    without_files_of,
)
from autograder.submission.download_names import TITLES, ParsedName, Source
from autograder.submission.entries import looks_like_class
from autograder.submission.files import StudentWork, in_sentence, visible
from autograder.submission.groups import Groups
from autograder.submission.names import StageResolver
from autograder.submission.place import Entry, Named, open_entries
from autograder.submission.recognition import Download
from autograder.submission.roster import Person, Roster

_LOOK = "Set aside and not graded: look at it, and pass the correct submission to this command."
_MAX_NAMED = 5  # names in a sentence
_Claims = dict[str, list[Named]]  # the entries of each student


class FindOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The instructor's options for finding students at a path."""

    source: Source | None = None  # where the submissions come from; None: their names decide
    roster: Roster | None = None
    groups: Groups | None = None  # of the assignment, from Canvas
    stages: tuple[Stage, ...] = ()  # to grade, if there are several; empty for all


NOTHING_SAID = FindOptions()


class FoundSubmissions(msgspec.Struct, frozen=True, kw_only=True):
    """The submissions found at a path, by student, and the entries that were set aside."""

    what: str  # one line about the recognized form of the path
    works: tuple[StudentWork, ...]
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
            yield note_answers(submission, self.resolver.stages)

    def submissions_of(self, work: StudentWork) -> Iterator[Submission]:
        """Read the submissions of one student."""
        stage = self.resolver.only or self.resolver.enclosing
        if stage is None or not work.is_download:
            yield from submissions(work, self.resolver)
            return
        # All files submitted for one assignment belong to one stage, under any name.
        resolver = replace(self.resolver, only=stage, enclosing=stage)
        yield next(submissions(work, resolver), None) or without_files_of(stage, work)


class ClassDivision:
    """Divides the *download* of a class at *path* among its students."""

    def __init__(
        self, path: Path, download: Download, resolver: StageResolver, options: FindOptions
    ) -> None:
        self._label = visible(path.name)
        self._download = download
        self._resolver = resolver
        self._options = options
        self._roster = options.roster or Roster(())
        self._set_aside: list[str] = []
        self._remarks: list[str] = []

    def found(self) -> FoundSubmissions:
        """Return the work of each student; raise ``UnclearDownloadError`` if nothing is left."""
        claims = self._claims()
        self._remarks += self._absent(claims)
        works = []
        for student, entries in sorted(claims.items()):
            if _are_of_one(entries):
                works.append(open_entries(student, entries))
                continue
            shown = in_sentence([entry.name for entry, _ in entries], _MAX_NAMED)
            self._set_aside.append(f"{student}: {shown} claim one student. {_LOOK}")
        if self._set_aside and not works:
            raise UnclearDownloadError(" ".join(self._set_aside))
        number = f"{len(works)} student{'s' * (len(works) != 1)}"
        late = sum(work.is_late for work in works)
        title = TITLES.get(self._download.platform, "")
        origin = f"a download from {title}" if title and title != "nbgrader" else "a class"
        return FoundSubmissions(
            what=f"{self._label}: {origin}, {number}" + f", {late} late" * bool(late),
            works=tuple(works),
            resolver=self._resolver,
            is_class=True,
            set_aside=tuple(self._set_aside),
            remarks=tuple(self._remarks),
        )

    def _claims(self) -> _Claims:
        """Return the entries of each student, except those that are set aside."""
        owned = [(entry, self._download.owners(entry)) for entry in self._download.entries]
        parsed = [name for _, names in owned for name in names]
        self._require_right_files(parsed)
        claims: _Claims = {}
        for entry, names in owned:
            if doubt := self._doubt(entry, names):
                self._set_aside.append(f"{visible(entry.name)}: {doubt} {_LOOK}")
                continue
            for name in names:
                claims.setdefault(self._roster.identify(name), []).append((entry, name))
        self._remarks += self._remarks_on(parsed)
        notes = [entry.name for entry, names in owned if not names and not entry.is_work]
        if notes:
            shown = in_sentence(notes, _MAX_NAMED)
            self._remarks.append(f"Not submissions, so not read: {shown}")
        return _by_number(claims)

    def _doubt(self, entry: Entry, names: Sequence[ParsedName]) -> str:
        """Return why the owner of *entry* is unclear; empty if it is clear."""
        if not names:
            title = TITLES.get(self._download.platform, "")
            return f"{title} does not make such names." if entry.is_work else ""
        is_guess = not self._download.platform and not self._options.source
        if not is_guess or self._roster.find(names[0]):
            return ""
        is_only = len(self._download.entries) == 1
        if not looks_like_class(entry, self._resolver, is_only=is_only):
            return ""
        return (
            "it looks like the submissions of a class. Pass it alone if it is your download, or "
            "add --from folder if it is one student's."
        )

    def _remarks_on(self, parsed: Sequence[ParsedName]) -> Iterator[str]:
        """Yield remarks on how the names in the download became ids."""
        if prefix := self._download.prefix:
            yield (
                f"The ids are the logins after {visible(prefix)}, as GitHub Classroom names "
                "repositories. --from folder keeps the whole names."
            )
        if self._roster.people:
            yield from not_in_roster(name for name in parsed if not self._roster.find(name))
        typed = [name.student for name in parsed if name.is_typed]
        if typed:
            shown = in_sentence(typed, _MAX_NAMED)
            yield f"A text or a link instead of a file, which is not graded: {shown}"
        edited = [name.student for name in parsed if self._roster.finds_by_name_alone(name)]
        if edited:
            shown = in_sentence(edited, _MAX_NAMED)
            yield (
                f"Identified by the name alone, which students may be able to edit in Moodle: "
                f"{shown}. With Moodle's grading worksheet as a second --roster, the participant's "
                "number and address decide."
            )

    def _absent(self, claims: Mapping[str, object]) -> Iterator[str]:
        """Yield a sentence about the students of the roster for whom nobody submitted anything."""
        groups, people = self._options.groups, self._roster.people
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

    def _require_right_files(self, parsed: Sequence[ParsedName]) -> None:
        """Raise ``UnclearDownloadError`` if the roster or the worksheet is of something else."""
        roster = self._roster
        nothing = "Nothing was graded or collected."
        if parsed and roster.file and not any(map(roster.find, parsed)):
            shown = " and ".join(name.student for name in parsed[:2])
            msg = (
                f"{roster.file} has no student of {self._label}, such as {shown}. {nothing} Pass "
                "the roster of this class, name its column of ids with --id-column, or leave out "
                "--roster to use the ids of the download."
            )
            raise UnclearDownloadError(msg)
        numbers = {name.number for name in parsed if name.platform == "moodle"}
        if roster.worksheet and parsed and not numbers & roster.worksheet.keys():
            msg = (
                f"No student in {self._label} has a number from the worksheet. {nothing} Pass the "
                "worksheet of the same assignment in Moodle."
            )
            raise UnclearDownloadError(msg)


def _group(groups: Groups | None, person: Person) -> str:
    member = groups.find(person.student, person.number) if groups else None
    return member.group if member else ""


def _by_number(claims: _Claims) -> _Claims:
    """Merge students with the same number in an LMS, because only one of their names is real."""
    joined: _Claims = {}
    first_with: dict[str, str] = {}
    for student, entries in claims.items():
        for entry, name in entries:
            first = first_with.setdefault(name.number, student) if name.number else student
            joined.setdefault(first, []).append((entry, name))
    return joined


def _are_of_one(entries: Sequence[Named]) -> bool:
    """Return whether *entries* all belong to one student."""
    owners = {
        replace(name, file="", is_late=False, is_typed=False, upload=0) for _, name in entries
    }
    of_lms = all(name.platform for _, name in entries)
    return len(owners) == 1 and (of_lms or _belong_together([entry for entry, _ in entries]))


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
