"""Decides which platform made the download of a class, and assigns its entries to students.

Unless the instructor names the platform, it is the first of Canvas, Moodle, nbgrader and GitHub
Classroom that every entry fits. An entry that can't be read abstains. nbgrader and GitHub Classroom
have a folder for each student, so a file that can't be a submission abstains, too; for nbgrader,
also a folder without the folder of a stage. If only some entries fit, nothing is assumed. If none
fits, all entries are one submission (``holds_submission``), or each is one student's. An export of
Gradescope is known by ``submission_metadata.yml``, which has the ``:submitters:`` of each folder.
Entries of unclear owners are set aside.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from autograder.course import Stage
from autograder.errors import UnclearDownloadError, UsageError
from autograder.sanitize import name_and_id
from autograder.submission.assemble import (
    Submission,
    note_answers,
    submissions,
    without_files_of,
)
from autograder.submission.files import StudentWork, UnusableFile, in_sentence, visible
from autograder.submission.names import (
    TITLES,
    ParsedName,
    Source,
    StageResolver,
    parse_name,
    parse_repository,
    shared_prefix,
    student_id,
)
from autograder.submission.place import (
    Entry,
    Named,
    holds_stages,
    holds_submission,
    looks_like_class,
    open_entries,
)
from autograder.submission.roster import Groups, Roster

METADATA: Final = "submission_metadata.yml"
_MAX_METADATA = 64 * 2**20  # bytes; it also holds the output of each of Gradescope's tests


def read_submitters(entries: Sequence[Entry]) -> Mapping[str, list[ParsedName]] | None:
    """Map each folder to its students; None without metadata, ``UsageError`` if it is broken."""
    files = [entry.list_files()[0] for entry in entries if entry.name == METADATA]
    if not files or not files[0]:
        return None
    import yaml  # noqa: PLC0415  # an optional library

    try:
        text = files[0][0].read(_MAX_METADATA)
        loaded = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # both are safe
    except (UnusableFile, yaml.YAMLError, ValueError) as error:
        msg = f"{METADATA} can't be read ({error}). Download the export from Gradescope again."
        raise UsageError(msg) from None
    if not isinstance(loaded, dict):
        msg = f"{METADATA} is not Gradescope's: it lists no submissions. Download it again."
        raise UsageError(msg)
    return {str(folder): _submitters(data) for folder, data in loaded.items()}


def _submitters(data: Any) -> list[ParsedName]:
    found = data.get(":submitters") if isinstance(data, dict) else None
    people = [person for person in found or () if isinstance(person, dict)]
    return [parsed for person in people if (parsed := _student(person))]


def _student(person: Mapping[str, object]) -> ParsedName | None:
    """Return the student by the institution's id, else by the address, else by the name."""
    sid, email, name = (str(person.get(f":{key}") or "") for key in ("sid", "email", "name"))
    chosen = sid or email or name
    if not chosen:
        return None
    student = student_id(chosen)
    return ParsedName(student=student, file="", platform="gradescope", name=name, email=email)


_ORDER: Final[tuple[Source, ...]] = ("canvas", "moodle", "nbgrader", "github")
_FOLDERS: Final = {"nbgrader", "github"}  # platforms with a folder for each student


class Download(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of a class; *owners* returns the students of an entry, by its name."""

    entries: Sequence[Entry]
    platform: str  # a key of ``TITLES``; "" for a folder with one entry for each student
    owners: Callable[[Entry], list[ParsedName]]
    prefix: str = ""  # before the logins of GitHub Classroom


class Recognizer:
    """Recognizes the download at a path called *label*, which has *entries*."""

    def __init__(
        self, label: str, entries: Sequence[Entry], resolver: StageResolver, roster: Roster | None
    ) -> None:
        self._label = visible(label)
        self._entries = entries
        self._resolver = resolver
        self._roster = roster

    def recognize(self, source: Source | None) -> Download | None:
        """Return the download; None: one submission. ``UnclearDownloadError`` if names differ."""
        if source is None:
            is_export = any(entry.name == METADATA for entry in self._entries)
            source = "folder" if is_export else self._decide()
        if source == "folder":
            return self._folder()
        if True not in self._votes(source):
            if source == "nbgrader" and holds_submission(self._entries, self._resolver):
                return None
            raise UnclearDownloadError(self._nothing_fits(source))
        return Download(
            entries=self._entries,
            platform=source,
            owners=lambda entry: self._owners(source, entry),
            prefix=(self._prefix or "") if source == "github" else "",
        )

    def _decide(self) -> Source:
        """Return the platform that every entry fits, else ``folder``."""
        # Repositories may contain folders of stages, as in nbgrader: then logins decide.
        order: tuple[Source, ...] = ("github", *_ORDER) if self._login_prefix else _ORDER
        votes = {platform: self._votes(platform) for platform in order}
        for platform, fits in votes.items():
            if True in fits and False not in fits:
                return platform
        for platform, fits in votes.items():
            # A student's own folders may share a prefix, or contain folders of stages.
            if fits.count(True) > (fits.count(False) if platform in _FOLDERS else 0):
                raise UnclearDownloadError(self._unclear(platform, fits))
        return "folder"

    def _votes(self, platform: Source) -> list[bool | None]:
        return [self._vote(platform, entry) for entry in self._entries]

    def _vote(self, platform: Source, entry: Entry) -> bool | None:
        if self._parse(platform, entry):
            return platform != "nbgrader" or holds_stages(entry, self._resolver) or None
        may_be_note = platform in _FOLDERS and entry.kind == "other"
        return None if may_be_note or not entry.is_readable else False

    def _parse(self, platform: Source, entry: Entry) -> ParsedName | None:
        if platform not in _FOLDERS:
            return parse_name(entry.name, platform)
        if entry.kind != "folder" or self._resolver.stage_named(entry.name):
            return None
        if platform == "nbgrader":
            return entry.plain_name()
        return None if self._prefix is None else parse_repository(entry.name, self._prefix)

    @cached_property
    def _prefix(self) -> str | None:
        """The prefix of GitHub Classroom's repositories; None if it is unknown."""
        if self._login_prefix is not None:
            return self._login_prefix or None  # ids alone are not repositories
        return shared_prefix(self._folders) or None

    @cached_property
    def _login_prefix(self) -> str | None:
        """The prefix before the logins of the roster; None if no folder is named after one."""
        return self._roster.prefix_of(self._folders) if self._roster else None

    @property
    def _folders(self) -> list[str]:
        return [entry.name for entry in self._entries if entry.kind == "folder"]

    def _owners(self, platform: Source, entry: Entry) -> list[ParsedName]:
        """Return the owner of *entry*; an entry that can't be read keeps its own name."""
        if parsed := self._parse(platform, entry):
            return [parsed]
        return [] if entry.is_readable else [entry.plain_name()]

    def _folder(self) -> Download | None:
        """Return an export of Gradescope, or one entry for each student; None: one submission."""
        submitters = read_submitters(self._entries)
        if submitters is None:
            if holds_submission(self._entries, self._resolver):
                return None
            return Download(entries=self._entries, platform="", owners=_plain_owner)
        return Download(
            entries=[entry for entry in self._entries if entry.name != METADATA],
            platform="gradescope",
            owners=lambda entry: submitters.get(entry.name) or _plain_owner(entry),
        )

    def _unclear(self, platform: Source, votes: Sequence[bool | None]) -> str:
        odd = [
            entry.name for entry, vote in zip(self._entries, votes, strict=True) if vote is False
        ]
        title = TITLES[platform]
        number = votes.count(True)
        some = "1 name is" if number == 1 else f"{number} names are"
        return (
            f"{self._label}: {some} as {title} makes them, but not {_shown(odd)}. Nothing was "
            f"graded or collected. If it is a download from {title}, add --from {platform}; if "
            "each entry is one student's, add --from folder."
        )

    def _nothing_fits(self, source: Source) -> str:
        names = [entry.name for entry in self._entries]
        hint = f"Pass what you downloaded from {TITLES[source]}, or leave out --from."
        if source == "github":
            hint = (
                "The folders have to share a prefix that ends in a hyphen; for a single folder, "
                "pass Classroom's roster with --roster."
            )
        is_as = f"no name is as {TITLES[source]} makes them"
        return f"{self._label}: {is_as}, such as {_shown(names) or 'none at all'}. {hint}"


def _plain_owner(entry: Entry) -> list[ParsedName]:
    return [entry.plain_name()] if entry.is_work else []


def _shown(names: Sequence[str]) -> str:
    return " and ".join(map(visible, names[:2]))


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
        groups, people = self._options.groups, self._roster.people
        members = ((one, groups and groups.find(one.student, one.number)) for one in people)
        group_of = {one.student: member.group if member else "" for one, member in members}
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
            verb = "has" if len(absent) == 1 else "have"
            hint = "" if groups else " If groups submit together, add --groups."
            names = ", ".join(sorted(absent))
            yield f"{who} of the roster {verb} nothing in {self._label}: {names}.{hint}"

    def _require_right_files(self, parsed: Sequence[ParsedName]) -> None:
        """Raise ``UnclearDownloadError`` if the roster or the worksheet is of something else."""
        roster = self._roster
        nothing = "Nothing was graded or collected."
        if parsed and roster.file and not any(map(roster.find, parsed)):
            shown = " and ".join(name.student for name in parsed[:2])
            raise UnclearDownloadError(
                f"{roster.file} has no student of {self._label}, such as {shown}. {nothing} Pass "
                "the roster of this class, name its column of ids with --id-column, or leave out "
                "--roster to use the ids of the download."
            )
        numbers = {name.number for name in parsed if name.platform == "moodle"}
        if roster.worksheet and parsed and not numbers & roster.worksheet.keys():
            raise UnclearDownloadError(
                f"No student in {self._label} has a number from the worksheet. {nothing} Pass the "
                "worksheet of the same assignment in Moodle."
            )


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
    owners = {
        replace(name, file="", is_late=False, is_typed=False, upload=0) for _, name in entries
    }
    of_lms = all(name.platform for _, name in entries)
    return len(owners) == 1 and (of_lms or _belong_together([entry for entry, _ in entries]))


def _belong_together(entries: Sequence[Entry]) -> bool:
    kinds = [entry.kind for entry in entries]
    suffixes = [PurePosixPath(entry.name).suffix.lower() for entry in entries]
    is_code = set(kinds) == {"code"} and len(set(suffixes)) == len(suffixes)
    return len(entries) == 1 or is_code or sorted(kinds) == ["archive", "folder"]


def not_in_roster(unknown: Iterable[ParsedName]) -> tuple[str, ...]:
    """Return a sentence for each student in *unknown*, which the roster does not have."""
    students = dict.fromkeys(parsed.student for parsed in unknown)
    return tuple(f"{student}: not in the roster, so this id is used" for student in students)
