"""Finds the submissions at a path, one for each student and stage.

A ``.py``, a ``.ipynb``, a folder below nbgrader's ``submitted/`` and an entry with the name of a
student in the roster belong to one student. A ``.zip`` belongs to one student, too, unless all
names at its top were made by an LMS, or are zips, or are folders that contain folders of stages;
then it belongs to a class. For any other folder, the first of these rules that applies decides:

1. Two or more archives, or a name that an LMS made: a class.
2. A folder with the name of a stage, or a file with the name of a stage's module or notebook
   (or ``lab.ipynb``, or a browser's copy such as ``lab (1).ipynb``): one student.
3. No folder, no archive, and at most one ``.py`` or ``.ipynb``: one student.
4. Anything else: a class.

The only entry of a folder may be the download of a class, or the work of a student who imitates
one, so it is opened only if ``FindOptions`` confirm it. The same holds for a single folder around
everything in a zip, unless the zip has the same name.

In a class, each folder (``<student>/<stage>/`` of nbgrader,
``<name>_<number>_assignsubmission_file_/`` of Moodle), each archive, each loose ``.py`` or
``.ipynb``, and each other entry that an LMS named after a student belongs to one student. The LMS
is decided once for the whole class. Files that an LMS named after one student, a module next to a
notebook, and a folder next to its own archive form one submission. Other entries of the same
student are set aside. The roster maps the names in a download to the ids of the course.

The student is the name of the folder or the stem of the file; ``names.parse_download_name`` parses
the names that Canvas and Moodle make. If that is the name of a stage, the student is the nearest
folder above that does not have the name of a stage. The stage is determined by the nearest folder
with a stage's name, then by the file's name, then by the stage that the caller names.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from autograder.course import COURSE_FILE, Stage
from autograder.errors import UnclearOwnerError, UsageError
from autograder.submission.assemble import Submission, submissions, without_files_of
from autograder.submission.class_division import (
    NOTHING_SAID,
    ClassDivision,
    FindOptions,
    FoundSubmissions,
    is_work,
    not_in_roster,
)
from autograder.submission.entries import (
    Entries,
    class_inside,
    entries_of,
    packed_class,
    packed_entries,
    unreadable_path,
)
from autograder.submission.files import UnusableFile, visible
from autograder.submission.names import (
    ParsedName,
    StageResolver,
    comparison_key,
    find_lms,
    original_stem,
    parse_download_name,
    student_id,
)
from autograder.submission.place import (
    ZIP,
    entry_at,
    is_archive,
    is_code,
    is_folder,
    open_work,
    repack,
)
from autograder.submission.roster import Roster

SUBMITTED = "submitted"  # nbgrader's folder in a course, with a folder for each student
_DOWNLOADED = "downloaded"  # nbgrader's folder of downloads, by stage
_STEPS = ({"archive"}, {"archive", "extracted"})  # nbgrader's folders below downloaded/<stage>/
_NOTHING = "Nothing was graded or collected, because a student may have packed it."


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

    The rules are at the top of this module.

    Raises ``UsageError`` if *path* can't be used, or is neither a submission nor a class, and
    ``UnclearOwnerError`` if an only entry needs to be confirmed. A problem inside a submission
    becomes a submission with a problem.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links
    resolver = StageResolver(stages=tuple(stages), only=only)
    is_file = _is_file(path)
    if not is_file:
        _refuse_course(path, stages)
        path = _downloaded(path, resolver, options)
    enclosing = resolver.stage_named(path.name) or resolver.stage_named(path.parent.name)
    resolver = replace(resolver, enclosing=enclosing)
    if not options.unwrap and _is_known_student(path, resolver, options.roster):
        return _one(path, resolver, options.roster, is_file=is_file)
    entries = _class_in_zip(path, resolver, options) if is_file else entries_of(path)
    if entries is not None and not is_file:
        is_unwrapped = options.unwrap and len(entries) == 1
        if not is_unwrapped and _is_one_submission(entries, resolver):
            entries = None
        elif inner := _class_in_entry(path, entries, resolver, options):
            path, entries = path / entries.names[0], inner
    if entries is None:
        return _one(path, resolver, options.roster, is_file=is_file)
    return ClassDivision(path, entries, resolver, options).found()


def find_all(
    paths: Sequence[Path],
    stages: Sequence[Stage],
    only: Stage | None = None,
    options: FindOptions = NOTHING_SAID,
) -> list[FoundSubmissions]:
    """Find the submissions at each of *paths*, as ``find`` does.

    Raises ``UnclearOwnerError`` if some zips look like classes and others do not, because a shell
    may have listed a folder of students' zips.
    """
    places = [find(path, stages, only, options) for path in paths]
    zips = [place for path, place in zip(paths, places, strict=True) if path.suffix.lower() == ZIP]
    classes = [place for place in zips if place.is_class]
    if options.unwrap is None and 0 < len(classes) < len(zips):
        msg = (
            f"{classes[0].what}, but at least one of these zips is a single submission. "
            f"{_NOTHING} Pass the download of a class alone; if a student packed it, add "
            "--no-unwrap."
        )
        raise UnclearOwnerError(msg)
    return places


def collect_one(folder: Path, student: str, stage: Stage, stages: Sequence[Stage]) -> Submission:
    """Return the submission of *student* for *stage* from *folder*, with files of any name.

    Raises ``UsageError`` if *student* can't be an id.
    """
    if student_id(student) != student:
        msg = (
            f"{folder} can't be graded: {visible(student)!r} can't be the name of a page or a "
            f"file. Rename it, for example to {student_id(student)!r}."
        )
        raise UsageError(msg)
    resolver = StageResolver(stages=tuple(stages), only=stage, enclosing=stage)
    work = open_work(student, [Path(os.path.abspath(folder))])  # noqa: PTH100 - `resolve` would follow links
    return next(submissions(work, resolver), None) or without_files_of(stage, work)


def _one(
    path: Path, resolver: StageResolver, roster: Roster | None, *, is_file: bool
) -> FoundSubmissions:
    """Return the submissions of the one student at *path*."""
    if folder := _below_submitted(path, resolver):
        parsed = parse_download_name(folder)
    elif is_file:
        parsed = _student_of_file(path, resolver)
    else:
        own = _student_of_folder((path, *path.parents), resolver)
        parsed = own or entry_at(path).parse_name()
    person = roster.find(parsed) if roster else None
    student = person.student if person else parsed.student
    return FoundSubmissions(
        what=f"{visible(path.name)}: one submission, of {student}",
        works=(open_work(student, [path]),),
        resolver=resolver,
        remarks=not_in_roster([parsed] if roster and not person else []),
    )


def _is_known_student(path: Path, resolver: StageResolver, roster: Roster | None) -> bool:
    """Return whether *path* is below ``submitted/``, or is named after a student in *roster*."""
    if _below_submitted(path, resolver):
        return True
    own = _student_of_folder((path, *path.parents), resolver)
    if is_archive(path):
        own = entry_at(path).parse_name()
    return roster is not None and own is not None and roster.find(own) is not None


def _below_submitted(path: Path, resolver: StageResolver) -> str:
    """Return the name of the student's folder in ``submitted/`` that holds *path*, or ""."""
    roots = [root for stage in resolver.stages[:1] for root in (stage.root, stage.root.resolve())]
    for submitted in (Path(os.path.abspath(root)) / SUBMITTED for root in roots):  # noqa: PTH100 - `resolve` would follow links
        inside = path.relative_to(submitted).parts if path.is_relative_to(submitted) else ()
        if len(inside) > 1 or (inside and is_folder(path)):
            return inside[0]
    return ""


def _class_in_zip(path: Path, resolver: StageResolver, options: FindOptions) -> Entries | None:
    """Return the entries of the class in the zip at *path*; None if it is one student's."""
    if path.suffix.lower() != ZIP or options.unwrap is False:
        return None
    entries = packed_class(path, resolver)
    if options.unwrap:
        return entries or _entries_inside(path)
    if entries is None or not entries.wrapper:
        return entries
    if comparison_key(entries.wrapper) in {comparison_key(path.stem), original_stem(path.stem)[0]}:
        return entries  # operating systems pack a folder like this
    own = parse_download_name(entries.wrapper)
    return entries if _is_confirmed(path / entries.wrapper, own, entries, options) else None


def _class_in_entry(
    path: Path, entries: Entries, resolver: StageResolver, options: FindOptions
) -> Entries | None:
    """Return the entries of the class inside the only entry of *path*; None if there is none."""
    if options.unwrap is False or len(entries) != 1:
        return None
    [entry] = entries
    place = path / entry.name
    inner = class_inside(place, resolver)
    if options.unwrap and entry.kind in {"folder", "archive"}:
        return inner or _entries_inside(place)
    is_class = inner is not None and _is_confirmed(place, entry.parse_name(), inner, options)
    return inner if is_class else None


def _entries_inside(place: Path) -> Entries:
    """Return the entries of the folder or zip at *place*; raise ``UsageError`` if that fails."""
    if not place.is_symlink() and is_folder(place):
        return entries_of(place)
    try:
        return packed_entries(place)
    except UnusableFile as error:
        raise UsageError(str(error)) from None


def _is_confirmed(place: Path, own: ParsedName, inner: Entries, options: FindOptions) -> bool:
    """Return whether *inner*, at *place*, is a class; raise ``UnclearOwnerError`` if it is unclear.

    It is a class if the roster has everybody in *inner* but not *own*, the name around it. It is
    not a class if the roster has *own*.
    """
    roster = options.roster
    people = roster.people if roster else ()
    if roster and roster.find(own):
        return False
    lms = find_lms(inner.names)
    names = [(entry, entry.parse_name(lms)) for entry in inner]
    parsed = [name for entry, name in names if is_work(entry, name)]
    if roster and people and parsed and all(map(roster.find, parsed)):
        return True
    known = ", and the roster does not contain everybody in it" if people else ""
    name, around = visible(place.name), visible(place.parent.name)
    msg = f"{name}, the only entry of {around}, looks like the submissions of a class{known}."
    raise UnclearOwnerError(_unclear(msg))


def _unclear(sentence: str) -> str:
    return (
        f"{sentence} {_NOTHING} If it is your download, add --unwrap; if it is one student's "
        "submission, add --no-unwrap."
    )


def _refuse_course(path: Path, stages: Sequence[Stage]) -> None:
    """Raise ``UsageError`` if *path* is a course or contains this course."""
    is_course = (path / COURSE_FILE).is_file() and (path / "tests" / "hidden").is_dir()
    if is_course or any(path in stage.root.resolve().parents for stage in stages[:1]):
        msg = (
            f"{visible(str(path))} {'is' if is_course else 'contains'} the course itself. "
            "Pass the folder of the submissions, such as submitted."
        )
        raise UsageError(msg)


def _downloaded(path: Path, resolver: StageResolver, options: FindOptions) -> Path:
    """Return the archives' folder if *path* is a download in nbgrader's folder, else *path*.

    Raises ``UnclearOwnerError`` outside ``downloaded/``, where a student may have imitated it.
    """
    entries = entries_of(path)
    archive = path / "archive"
    if set(entries.names) in _STEPS and not archive.is_symlink() and archive.is_dir():
        is_nbgraders = resolver.stage_named(path.name) and path.parent.name == _DOWNLOADED
        if is_nbgraders or options.unwrap:
            return archive
        if options.unwrap is None:
            msg = (
                f"The folder archive in {visible(path.name)} has the name that nbgrader gives to "
                "downloads."
            )
            raise UnclearOwnerError(_unclear(msg))
    stages = [entry.name for entry in entries if resolver.stage_named(entry.name)]
    if any((path / name / "archive").is_dir() for name in stages):
        msg = (
            f"{visible(path.name)} contains the downloads of {len(stages)} stages. "
            f"Pass one of them, such as {visible(str(path / stages[0]))}."
        )
        raise UsageError(msg)
    return path


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
        msg = (
            f"{visible(str(path))} is a link or a special file, and links are not followed. "
            "Pass the folder or the file itself."
        )
        raise UsageError(msg)
    if path.suffix.lower() == ZIP or is_code(path):
        return True
    if is_archive(path):
        raise UsageError(repack(visible(path.name)))
    msg = (
        f"{visible(path.name)} is not a submission. "
        "Pass a folder, a .zip, a module (.py) or a notebook (.ipynb)."
    )
    raise UsageError(msg)


def _is_one_submission(entries: Entries, resolver: StageResolver) -> bool:
    """Return whether a folder with *entries* belongs to one student, by the rules of ``find``."""
    kinds = [entry.kind for entry in entries]
    if kinds.count("archive") > 1 or find_lms(entries.names):
        return False
    if any(map(resolver.matches, entries.names)):
        return True
    return not {"archive", "folder"} & set(kinds) and kinds.count("code") <= 1


def _student_of_file(path: Path, resolver: StageResolver) -> ParsedName:
    """Return the student by the file's name, or by a folder if the file is named after a stage."""
    parsed = entry_at(path).parse_name()
    if parsed.by_lms or not resolver.matches(path.name):
        return parsed
    return _student_of_folder(path.parents, resolver) or parsed


def _student_of_folder(folders: Iterable[Path], resolver: StageResolver) -> ParsedName | None:
    """Return the student by the nearest folder that does not have the name of a stage."""
    names = (folder.name for folder in folders if folder.name)
    own = (name for name in names if resolver.stage_named(name) is None)
    return next((parse_download_name(name) for name in own), None)
