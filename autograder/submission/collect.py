"""Recognizes what lies at a path, and collects submissions: one for each student and stage."""

import os
import stat
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import overload

import msgspec
from msgspec.structs import replace

from autograder.course import COURSE_FILE, Stage
from autograder.errors import UsageError
from autograder.submission.archive import MAX_CLASS_MEMBERS, open_class_archive
from autograder.submission.assemble import Submission, submissions, without_files_of
from autograder.submission.files import (
    HandIn,
    UnusableFile,
    abbreviated_list,
    is_hidden_or_generated,
    reason,
    visible,
)
from autograder.submission.names import (
    ParsedName,
    StageResolver,
    find_lms,
    parse_download_name,
    student_id,
)
from autograder.submission.place import (
    ZIP,
    Entry,
    entry_at,
    is_archive,
    is_code,
    is_folder,
    open_entries,
    open_hand_in,
    packed_entry,
    repack,
)
from autograder.submission.roster import Roster

_STEPS = ({"archive"}, {"archive", "extracted"})  # nbgrader's folders below downloaded/<stage>/


class Entries:
    """What lies at the top of a folder or of a class's archive; *open_entry* opens one by name."""

    def __init__(self, names: Iterable[str], open_entry: Callable[[str], Entry]) -> None:
        self.names = tuple(names)
        self.open_entry = open_entry

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Entry]:
        return map(self.open_entry, self.names)


class LazyHandIns(Sequence[HandIn]):
    """The hand-ins of a class; each is opened when its turn comes, and not kept."""

    def __init__(self, entries: Entries, lms: str) -> None:
        self._entries = entries
        self._lms = lms
        self._students: list[str] = []
        self._names: list[str] = []  # of the entries of all students
        self._ends = array("L")  # of the entries of each student

    def append(self, student: str, names: Iterable[str]) -> None:
        """Add the hand-in of *student*: the entries called *names*."""
        self._students.append(student)
        self._names.extend(names)
        self._ends.append(len(self._names))

    def __len__(self) -> int:
        return len(self._students)

    @overload
    def __getitem__(self, index: int) -> HandIn: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[HandIn]: ...

    def __getitem__(self, index: int | slice) -> HandIn | Sequence[HandIn]:
        """Open a hand-in: list its files."""
        at = range(len(self))[index]
        if isinstance(at, range):
            return [self[one] for one in at]
        names = self._names[self._ends[at - 1] if at else 0 : self._ends[at]]
        return open_entries(self._students[at], map(self._entries.open_entry, names), self._lms)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What was found at a path: each student's hand-in, and what was set aside."""

    what: str  # what the path was recognized as, in one line
    hand_ins: Sequence[HandIn]
    resolver: StageResolver
    set_aside: tuple[str, ...] = ()  # sentences on hand-ins that are nobody's or two people's
    remarks: tuple[str, ...] = ()

    def submissions(self) -> Iterator[Submission]:
        """Yield the submissions, sorted by student, then in the order of the stages."""
        for hand_in in self.hand_ins:
            yield from self.submissions_of(hand_in)

    def submissions_of(self, hand_in: HandIn) -> Iterator[Submission]:
        """Read the submissions of one of the hand-ins."""
        stage = self.resolver.only or self.resolver.enclosing
        if stage is None or not hand_in.by_lms:
            yield from submissions(hand_in, self.resolver)
            return
        # All that was handed in for one assignment is of one stage, whatever its name.
        resolver = replace(self.resolver, only=stage, enclosing=stage)
        yield next(submissions(hand_in, resolver), None) or without_files_of(stage, hand_in)


def collect(path: Path, stages: Sequence[Stage], only: Stage | None = None) -> Iterator[Submission]:
    """Yield what was handed in at *path*; see ``find``, which also says what it found."""
    return find(path, stages, only).submissions()


def find(
    path: Path, stages: Sequence[Stage], only: Stage | None = None, roster: Roster | None = None
) -> Found:
    """Recognize what lies at *path*.

    A ``.py`` or ``.ipynb`` is one student's. So is a ``.zip``, unless it is a class's: all names at
    its top are an LMS's, or are zips, or are folders that hold folders of stages. The entries of a
    folder decide whose it is:

    1. Two archives or more, or a name that an LMS made: a class.
    2. Else a folder named like a stage, or a file named as a stage's module or notebook is
       (``lab.ipynb`` and browser copies such as ``lab (1).ipynb`` included): one student's.
    3. Else no folder, no archive, and at most one ``.py`` or ``.ipynb``: one student's.
    4. Else a class; its only archive may be the class's.

    In a class each folder (nbgrader's ``<student>/<stage>/``, Moodle's
    ``<name>_<number>_assignsubmission_file_/``), each archive, each loose ``.py`` or ``.ipynb``,
    and whatever else an LMS named after a student, is that student's. The LMS is decided once for
    the whole class. Files that an LMS names after one student, a module beside a notebook, and a
    folder beside its own archive count as one hand-in; others that claim one student are set
    aside. *roster* gives students of a download the ids that the course knows them by.

    The student is the folder's name or the file's stem; ``names.parse_download_name`` reads the
    names that Canvas and Moodle make. Where a name only names a stage, the student is the nearest
    folder above that doesn't.
    The stage is the nearest folder named like one, else the file's name says it, else *only*.

    Raises ``UsageError`` if *path* itself can't be used, or is no hand-in and no class. Any problem
    inside becomes a submission with a problem.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links
    resolver = StageResolver(stages=tuple(stages), only=only)
    is_file = _is_file(path)
    if not is_file:
        _refuse_course(path, stages)
        path = _downloaded(path, resolver)
    enclosing = resolver.stage_named(path.name) or resolver.stage_named(path.parent.name)
    resolver = replace(resolver, enclosing=enclosing)
    entries = _packed_class(path, resolver) if is_file else _entries(path)
    if entries is None or (not is_file and _is_one_submission(entries, resolver)):
        return _one(path, resolver, roster, is_file=is_file)
    if not is_file and len(entries) == 1:
        entries = _class_inside(path / entries.names[0], resolver) or entries
    return _class(path, entries, resolver, roster)


def collect_one(folder: Path, student: str, stage: Stage, stages: Sequence[Stage]) -> Submission:
    """Return what *student* handed in for *stage* at *folder*, whatever its files are named.

    Raises ``UsageError`` if *student* can't be an id.
    """
    if student_id(student) != student:
        msg = (
            f"{folder} can't be graded: {visible(student)!r} can't be the name of a page or a "
            f"file. Rename it, such as to {student_id(student)!r}."
        )
        raise UsageError(msg)
    resolver = StageResolver(stages=tuple(stages), only=stage, enclosing=stage)
    hand_in = open_hand_in(student, [Path(os.path.abspath(folder))])  # noqa: PTH100 - `resolve` would follow links
    return next(submissions(hand_in, resolver), None) or without_files_of(stage, hand_in)


def _one(path: Path, resolver: StageResolver, roster: Roster | None, *, is_file: bool) -> Found:
    """Return the hand-in of one student at *path*."""
    if is_file:
        parsed = _student_of_file(path, resolver)
    else:
        own = _student_of_folder((path, *path.parents), resolver)
        parsed = own or entry_at(path).parse_name()
    person = roster.find(parsed) if roster else None
    student = person.student if person else parsed.student
    return Found(
        what=f"{visible(path.name)}: one hand-in, of {student}",
        hand_ins=(open_hand_in(student, [path]),),
        resolver=resolver,
        remarks=_not_in_roster([parsed] if roster and not person else []),
    )


def _class(path: Path, entries: Entries, resolver: StageResolver, roster: Roster | None) -> Found:
    """Return the hand-ins of a class."""
    lms = find_lms(entries.names)
    claims: _Claims = {}
    unknown, set_aside = [], []
    for entry in entries:
        parsed = entry.parse_name(lms)
        if not lms and _holds_several(_class_inside(path / entry.name, resolver)):
            set_aside.append(f"{visible(entry.name)}: this is a class of its own. {_LOOK}")
            continue
        # Any other file, such as a list of marks, belongs to no student.
        if not parsed.by_lms and entry.kind == "other":
            continue
        if lms == "Moodle" and entry.kind == "folder" and parsed.file:
            set_aside.append(f"{visible(entry.name)}: it is unclear whose folder it is. {_LOOK}")
            continue
        person = roster.find(parsed) if roster else None
        if roster and not person:
            unknown.append(parsed)
        # As one text, most names of students and of entries take the memory of one.
        student = person.student if person else parsed.student
        student = entry.name if student == entry.name else student
        claims.setdefault(student, []).append(entry.name)
    if lms:
        claims = _by_number(claims, lms)
    hand_ins = LazyHandIns(entries, lms)
    late = 0
    for student in sorted(claims):
        names = claims.pop(student)
        found = [entries.open_entry(name) for name in names]
        parsed_names = [entry.parse_name(lms) for entry in found]
        owners = {replace(parsed, file="", is_late=False) for parsed in parsed_names}
        if len(owners) > 1 or not (lms or _belong_together(found)):
            shown = ", ".join(abbreviated_list(names, _MAX_NAMED))
            set_aside.append(f"{student}: {shown} claim one student. {_LOOK}")
        else:
            hand_ins.append(student, names)
            late += any(parsed.is_late for parsed in parsed_names)
    origin = f"a download from {lms}" if lms else "a class"
    counted = f"{len(hand_ins)} student{'s' * (len(hand_ins) != 1)}" + f", {late} late" * bool(late)
    return Found(
        what=f"{visible(path.name)}: {origin}, {counted}",
        hand_ins=hand_ins,
        resolver=resolver,
        set_aside=tuple(set_aside),
        remarks=_not_in_roster(unknown),
    )


_LOOK = "Set aside, not graded: look at it, and name the right one to this command."
_MAX_NAMED = 5  # names in a sentence
_Claims = dict[str, list[str]]  # the names of entries by the student


def _by_number(claims: _Claims, lms: str) -> _Claims:
    """Join students with one number in the LMS: an account has one name, so one is forged."""
    joined: _Claims = {}
    by_number: dict[str, str] = {}
    for student, names in claims.items():
        for name in names:
            number = parse_download_name(name, lms).number
            first = by_number.setdefault(number, student) if number else student
            joined.setdefault(first, []).append(name)
    return joined


def _belong_together(entries: Sequence[Entry]) -> bool:
    """Return whether one student has them all: a module and a notebook, or a folder and its zip."""
    kinds = [entry.kind for entry in entries]
    suffixes = [PurePosixPath(entry.name).suffix.lower() for entry in entries]
    is_code = set(kinds) == {"code"} and len(set(suffixes)) == len(suffixes)
    return len(entries) == 1 or is_code or sorted(kinds) == ["archive", "folder"]


def _not_in_roster(unknown: Iterable[ParsedName]) -> tuple[str, ...]:
    students = dict.fromkeys(parsed.student for parsed in unknown)
    return tuple(f"{student}: not in the roster, so this id is used" for student in students)


def _refuse_course(path: Path, stages: Sequence[Stage]) -> None:
    """Raise ``UsageError`` if *path* is a course, or the folder that this course lies in."""
    is_course = (path / COURSE_FILE).is_file() and (path / "tests" / "hidden").is_dir()
    if is_course or any(path in stage.root.resolve().parents for stage in stages[:1]):
        msg = (
            f"{visible(str(path))} is {'' if is_course else 'around '}the course itself, no class. "
            "Name the folder that holds the hand-ins, such as submitted."
        )
        raise UsageError(msg)


def _downloaded(path: Path, resolver: StageResolver) -> Path:
    """Return the folder of a download below nbgrader's ``downloaded``; else *path*."""
    entries = _entries(path)
    archive = path / "archive"
    if {entry.name for entry in entries} in _STEPS and not archive.is_symlink():
        return archive
    stages = [entry.name for entry in entries if resolver.stage_named(entry.name)]
    if any((path / name / "archive").is_dir() for name in stages):
        msg = (
            f"{visible(path.name)} holds the downloads of {len(stages)} stages. "
            f"Name one of them, such as {visible(str(path / stages[0]))}."
        )
        raise UsageError(msg)
    return path


def _packed_class(path: Path, resolver: StageResolver) -> Entries | None:
    """Return the entries of the class that is packed at *path*; None: it is one student's."""
    if path.suffix.lower() != ZIP or parse_download_name(path.name).by_lms:
        return None
    try:
        listings = open_class_archive(path)
    except UnusableFile:
        return None  # the hand-in will say why
    entries = Entries(listings, lambda name: packed_entry(name, listings[name]))
    is_download = _is_download(list(listings))
    are_zips = len(entries) > 1 and all(entry.kind == "archive" for entry in entries)
    is_tree = all(_holds_stages(entry, resolver) for entry in entries) and len(entries) > 1
    return entries if listings and (is_download or are_zips or is_tree) else None


def _class_inside(path: Path, resolver: StageResolver) -> Entries | None:
    """Return the entries of the class that the folder or the archive at *path* is."""
    if path.is_symlink():  # a student's, who may point at anything
        return None
    if not is_folder(path):
        return _packed_class(path, resolver)
    try:
        with os.scandir(path) as found:
            names = [entry.name for entry in islice(found, MAX_CLASS_MEMBERS)]
        shown = [name for name in names if not is_hidden_or_generated(PurePosixPath(name))]
        is_class = _is_download(shown) and not parse_download_name(path.name).by_lms
        return _entries(path) if is_class else None
    except (OSError, UsageError):
        return None  # the hand-in will say why


def _holds_several(entries: Entries | None) -> bool:
    """Return whether *entries* are of more than one student."""
    return len({entry.parse_name().student for entry in entries or ()}) > 1


def _is_download(names: Sequence[str]) -> bool:
    """Return whether an LMS gave every one of *names*."""
    lms = find_lms(names)
    return bool(names) and all(parse_download_name(name, lms).by_lms for name in names)


def _holds_stages(entry: Entry, resolver: StageResolver) -> bool:
    """Return whether *entry* is a student's folder in nbgrader's tree."""
    files, _ = entry.list_files()
    tops = {file.path.parts[0] for file in files if len(file.path.parts) > 1}
    return entry.kind == "folder" and not resolver.stage_named(entry.name) and any(
        resolver.stage_named(top) for top in tops
    )  # fmt: skip


def _is_file(path: Path) -> bool:
    """Return whether *path* is a file that can be graded, or a folder; else raise."""
    try:
        kind = stat.S_IFMT(path.lstat().st_mode)
    except OSError as error:
        raise _unreadable(path, error) from error
    if kind == stat.S_IFDIR:
        return False
    if kind != stat.S_IFREG:
        # The shell may have expanded a `*` to a link that a student planted.
        msg = (
            f"{visible(str(path))} is a link or no ordinary file, and links are not followed. "
            "Name the folder or the file itself."
        )
        raise UsageError(msg)
    if path.suffix.lower() == ZIP or is_code(path):
        return True
    if is_archive(path):
        raise UsageError(repack(visible(path.name)))
    msg = (
        f"{visible(path.name)} is no submission. "
        "Name a folder, a .zip, a module (.py) or a notebook (.ipynb)."
    )
    raise UsageError(msg)


def _is_one_submission(entries: Entries, resolver: StageResolver) -> bool:
    """Apply the rule that ``find`` documents."""
    kinds = [entry.kind for entry in entries]
    if kinds.count("archive") > 1 or find_lms(entries.names):
        return False
    if any(map(resolver.matches, entries.names)):
        return True
    return not {"archive", "folder"} & set(kinds) and kinds.count("code") <= 1


def _entries(folder: Path) -> Entries:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208  # a path takes ten times the memory
    except OSError as error:
        raise _unreadable(folder, error) from error
    shown = (name for name in names if not is_hidden_or_generated(PurePosixPath(name)))
    return Entries(shown, lambda name: entry_at(folder / name))


def _student_of_file(path: Path, resolver: StageResolver) -> ParsedName:
    """Read the student from the file's name, or from its folder where that names a stage."""
    parsed = entry_at(path).parse_name()
    if parsed.by_lms or not resolver.matches(path.name):
        return parsed
    return _student_of_folder(path.parents, resolver) or parsed


def _student_of_folder(folders: Iterable[Path], resolver: StageResolver) -> ParsedName | None:
    """Read the student from the nearest folder that is not named like a stage."""
    names = (folder.name for folder in folders if folder.name)
    own = (name for name in names if resolver.stage_named(name) is None)
    return next((parse_download_name(name) for name in own), None)


def _unreadable(path: Path, error: OSError) -> UsageError:
    shown = visible(str(path))
    return UsageError(f"{shown} can't be read ({reason(error)}). Check path and permissions.")
