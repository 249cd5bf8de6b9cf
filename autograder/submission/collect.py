"""Finds the submissions at a path, one for each student and stage.

A ``.py``, a ``.ipynb``, a folder below nbgrader's ``submitted/``, and a folder or zip that has the
name of a student in the roster or that an LMS named after a student belong to one student. For any
other folder or zip, ``recognition`` decides whether it is the download of a class, a folder with an
entry for each student, or one submission.

In a class, the entries with the name of one student form one submission: files that a platform
named after the student, a module next to a notebook, and a folder next to its own archive. Other
entries of the same student are set aside. The roster maps the names to the ids of the course.

The student is the name of the folder or the stem of the file, as far as the platform or the student
chose it (``download_names``). If that is the name of a stage, the student is the nearest folder
above that does not have the name of a stage. The stage is determined by the nearest folder with a
stage's name, then by the file's name, then by the stage that the caller names.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import msgspec
from msgspec.structs import replace

from autograder.course import COURSE_FILE, Stage
from autograder.errors import UnclearDownloadError, UsageError
from autograder.stored_results import LazySequence
from autograder.submission.assemble import Submission, submissions, without_files_of
from autograder.submission.class_division import (
    NOTHING_SAID,
    ClassDivision,
    FindOptions,
    FoundSubmissions,
    Recognizer,
    not_in_roster,
)
from autograder.submission.files import StudentWork, UnusableFile, visible
from autograder.submission.names import ParsedName, StageResolver, parse_download_name, student_id
from autograder.submission.place import (
    ZIP,
    Entry,
    entries_of,
    entry_at,
    is_archive,
    is_code,
    is_folder,
    open_work,
    packed_entries,
    repack,
    unreadable_path,
)

SUBMITTED = "submitted"  # nbgrader's folder in a course, with a folder for each student


def collect(path: Path, stages: Sequence[Stage], only: Stage | None = None) -> Iterator[Submission]:
    """Yield the submissions at *path*, which ``find`` recognizes."""
    return find(path, stages, only).submissions()


def find(
    path: Path,
    stages: Sequence[Stage],
    only: Stage | None = None,
    options: FindOptions = NOTHING_SAID,
) -> FoundSubmissions:
    """Find the submissions at *path* and their students.

    Raises ``UsageError`` if *path* can't be used, and ``UnclearDownloadError`` if it is unclear to
    whom the submissions belong. A problem inside a submission becomes a submission with a problem.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links
    resolver = StageResolver(stages=tuple(stages), only=only, chosen=options.stages)
    is_file = _is_file(path)
    if not is_file:
        _refuse_course(path, stages)
    enclosing = resolver.stage_named(path.name) or resolver.stage_named(path.parent.name)
    resolver = replace(resolver, enclosing=enclosing)
    if _is_of_one_student(path, resolver, options):
        return _one(path, resolver, options, is_file=is_file)
    try:
        entries = _packed(path, resolver, options) if is_file else entries_of(path)
    except UnusableFile as error:
        if options.source in {None, "folder"}:  # the submission will report the reason
            return _one(path, resolver, options, is_file=is_file)
        raise UsageError(str(error)) from None
    recognizer = Recognizer(path.name, entries, resolver, options.roster)
    if download := recognizer.recognize(options.source):
        return ClassDivision(path, download, resolver, options).found()
    return _one(path, resolver, options, is_file=is_file)


def find_all(
    paths: Sequence[Path],
    stages: Sequence[Stage],
    only: Stage | None = None,
    options: FindOptions = NOTHING_SAID,
) -> list[FoundSubmissions]:
    """Find the submissions at each of *paths*, as ``find`` does.

    Raises ``UnclearDownloadError`` if some zips are classes and others are not, because a shell may
    have listed students' zips, and one of them may imitate a download.
    """
    places = [find(path, stages, only, options) for path in paths]
    zips = [place for path, place in zip(paths, places, strict=True) if path.suffix.lower() == ZIP]
    classes = [place for place in zips if place.is_class]
    if 0 < len(classes) < len(zips):
        raise UnclearDownloadError(
            f"{classes[0].what}, but another of these zips is one submission. Nothing was graded "
            "or collected. Pass the download of a class alone, and students' zips as a folder."
        )
    return places


def collect_one(folder: Path, student: str, stage: Stage, stages: Sequence[Stage]) -> Submission:
    """Return the submission of *student*, which must be an id, with files of any name."""
    if student_id(student) != student:
        raise UsageError(
            f"{folder} can't be graded: {visible(student)!r} can't be the name of a page or a "
            f"file. Rename it, for example to {student_id(student)!r}."
        )
    resolver = StageResolver(stages=tuple(stages), only=stage, enclosing=stage)
    work = open_work(student, Path(os.path.abspath(folder)))  # noqa: PTH100 - `resolve` would follow links
    return next(submissions(work, resolver), None) or without_files_of(stage, work)


def _one(
    path: Path, resolver: StageResolver, options: FindOptions, *, is_file: bool
) -> FoundSubmissions:
    roster = options.roster
    if folder := _below_submitted(path, resolver):
        parsed = parse_download_name(folder)
    elif is_file:
        parsed = _student_of_file(path, resolver)
    else:
        own = _student_of_folder((path, *path.parents), resolver)
        parsed = own or entry_at(path).plain_name()
    person = roster.find(parsed) if roster else None
    student = person.student if person else parsed.student
    is_unknown = roster is not None and roster.people and not person
    return FoundSubmissions(
        what=f"{visible(path.name)}: one submission, of {student}",
        works=(open_work(student, path),),
        resolver=resolver,
        remarks=not_in_roster([parsed] if is_unknown else []),
    )


def _is_of_one_student(path: Path, resolver: StageResolver, options: FindOptions) -> bool:
    """Return whether the name or the folder of *path* shows that it belongs to one student."""
    if is_code(path) or _below_submitted(path, resolver) or parse_download_name(path.name).platform:
        return True
    own = _student_of_folder((path, *path.parents), resolver)
    if is_archive(path):
        own = entry_at(path).plain_name()
    if own is None or options.roster is None or options.source not in {None, "folder"}:
        return False
    return options.roster.find(own) is not None


def _below_submitted(path: Path, resolver: StageResolver) -> str:
    """Return the name of the student's folder in ``submitted/`` that holds *path*, or ""."""
    roots = [root for stage in resolver.stages[:1] for root in (stage.root, stage.root.resolve())]
    for submitted in (Path(os.path.abspath(root)) / SUBMITTED for root in roots):  # noqa: PTH100 - `resolve` would follow links
        inside = path.relative_to(submitted).parts if path.is_relative_to(submitted) else ()
        if len(inside) > 1 or (inside and is_folder(path)):
            return inside[0]
    return ""


def _packed(path: Path, resolver: StageResolver, options: FindOptions) -> list[Entry]:
    roster = options.roster

    def is_student(entry: Entry) -> bool:
        return roster is not None and roster.prefix_of([entry.name]) is not None

    is_class = options.source not in {None, "folder"}
    return packed_entries(path, resolver, is_student, is_class=is_class)


def _refuse_course(path: Path, stages: Sequence[Stage]) -> None:
    is_course = (path / COURSE_FILE).is_file() and (path / "tests" / "hidden").is_dir()
    if is_course or any(path in stage.root.resolve().parents for stage in stages[:1]):
        raise UsageError(
            f"{visible(str(path))} {'is' if is_course else 'contains'} the course itself. "
            "Pass the folder of the submissions, such as submitted."
        )


def _is_file(path: Path) -> bool:
    """Return whether *path* is a file and not a folder; raise ``UsageError`` for anything else."""
    try:
        kind = stat.S_IFMT(path.lstat().st_mode)
    except OSError as error:
        raise unreadable_path(path, error) from error
    if kind == stat.S_IFDIR:
        return False
    if kind != stat.S_IFREG:
        # The shell may have expanded a `*` to a link that a student planted.
        raise UsageError(
            f"{visible(str(path))} is a link or a special file, and links are not followed. "
            "Pass the folder or the file itself."
        )
    if path.suffix.lower() == ZIP or is_code(path):
        return True
    if is_archive(path):
        raise UsageError(repack(visible(path.name)))
    raise UsageError(
        f"{visible(path.name)} is not a submission. "
        "Pass a folder, a .zip, a module (.py) or a notebook (.ipynb)."
    )


def _student_of_file(path: Path, resolver: StageResolver) -> ParsedName:
    parsed = parse_download_name(path.name)
    if parsed.platform:
        return parsed
    if not resolver.matches(path.name):
        return entry_at(path).plain_name()
    return _student_of_folder(path.parents, resolver) or entry_at(path).plain_name()


def _student_of_folder(folders: Iterable[Path], resolver: StageResolver) -> ParsedName | None:
    """Return the student by the nearest folder that does not have the name of a stage."""
    names = (folder.name for folder in folders if folder.name)
    own = (name for name in names if resolver.stage_named(name) is None)
    return next(map(parse_download_name, own), None)


Change = Callable[[Submission], Submission]


class SubmissionOutline(msgspec.Struct, frozen=True, kw_only=True):
    """The data about a submission that does not need its bytes."""

    student: str
    stage: str
    digest: str
    has_code: bool
    is_late: bool

    @classmethod
    def of(cls, submission: Submission) -> Self:
        """Return the outline of *submission*."""
        return cls(
            student=submission.student,
            stage=submission.stage,
            digest=submission.digest,
            has_code=submission.code is not None,
            is_late=submission.is_late,
        )


class _Row(msgspec.Struct, frozen=True):
    """A submission, which is read again from the files of its student."""

    place: FoundSubmissions
    work: StudentWork
    outline: SubmissionOutline


class LazySubmissions(LazySequence[_Row, Submission]):
    """The submissions of several places, in order; ``of`` reads each of them once."""

    def __init__(self, rows: Sequence[_Row]) -> None:
        super().__init__(rows)
        self._change: Change = lambda submission: submission
        self._last: tuple[StudentWork | None, list[Submission]] = None, []

    @classmethod
    def of(cls, places: Iterable[FoundSubmissions]) -> Self:
        """List the submissions of *places*."""
        return cls(
            [
                _Row(place, work, SubmissionOutline.of(submission))
                for place in places
                for work in place.works
                for submission in place.submissions_to_grade(work)
            ]
        )

    def outlines(self) -> Iterator[SubmissionOutline]:
        """Yield the outline of each submission without reading it again."""
        return (row.outline for row in self._rows)

    def subset(self, indices: Iterable[int]) -> Self:
        """Return only the submissions at *indices*."""
        return self.with_rows([self._rows[index] for index in indices])

    def changed_by(self, change: Change) -> Self:
        """Return the same submissions; *change* is applied to each when it is read."""
        changed = self.with_rows(self._rows)
        changed._change = change  # noqa: SLF001  # of the same class
        return changed

    def read(self, row: _Row) -> Submission:
        """Read a submission; raise ``UsageError`` if its files have changed."""
        known = row.outline
        for submission in self._read(row):
            if submission.stage == known.stage and (submission.code is not None) == known.has_code:
                return self._change(submission)
        who = " ".join(filter(None, [known.student, known.stage]))
        msg = f"The files of {who} changed while the class was graded. Run the same command again."
        raise UsageError(msg)

    def _read(self, row: _Row) -> list[Submission]:
        """Read all submissions of the student of *row*, and keep them for the other stages."""
        if self._last[0] is not row.work:
            self._last = row.work, list(row.place.submissions_to_grade(row.work))
        return self._last[1]


def stages_with_code(submissions: Sequence[Submission]) -> set[str]:
    """Return the stages for which code was submitted, without reading lazy submissions again."""
    if isinstance(submissions, LazySubmissions):
        return {outline.stage for outline in submissions.outlines() if outline.has_code}
    return {submission.stage for submission in submissions if submission.code is not None}
