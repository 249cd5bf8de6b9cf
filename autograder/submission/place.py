"""Opens what one student submitted, lists the entries of a folder or zip, and knows a class."""

import os
import re
import stat
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec
from msgspec.structs import replace

from autograder.errors import UsageError
from autograder.submission.archive import ArchiveBudget, ClassArchive, PackedEntry, open_archive
from autograder.submission.files import (
    CODE,
    Listing,
    PlacedFault,
    StudentWork,
    SubmittedFile,
    is_hidden_or_generated,
    not_regular,
    read_regular,
    reason,
    unreadable,
    visible,
)
from autograder.submission.names import (
    LMS,
    ParsedName,
    StageResolver,
    parse_download_name,
    parse_name,
    student_id,
)

ZIP = ".zip"
MAX_ENTRIES = 2000  # honest submissions have about ten; more is a virtual environment or an attack
MAX_SCANNED = 50_000  # entries of one folder, so that a module is found among many images
MAX_DEPTH = 12  # enough for <student>/<stage>/ and the folders that a zip tool adds
MAX_ZIPS = 20  # in one submission; more than this course has stages
MAX_FAULTS = 5  # sentences; `ignored` lists the files in any case
_OTHER_ARCHIVE = re.compile(r"(?i)\.(?:tar(?:\.\w+)?|tgz|tbz2?|txz|gz|bz2|xz|zst|rar|7z)$")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry at the top of a folder or of a class's archive, such as a student's folder."""

    name: str
    kind: Literal["folder", "archive", "code", "other"]
    list_files: Callable[[], Listing]  # an archive is listed as one file

    @property
    def is_readable(self) -> bool:
        """Whether all files of this entry could be listed."""
        return not self.list_files()[1]

    @property
    def is_work(self) -> bool:
        """Whether this entry may be a submission, by its kind or because it can't be read."""
        return self.kind != "other" or not self.is_readable

    def plain_name(self) -> ParsedName:
        """Return the name of this entry as that of a student, without the suffix of a file."""
        stem = self.name
        if self.kind != "folder":
            stem = _OTHER_ARCHIVE.sub("", stem) if self.kind == "archive" else stem
            stem = PurePosixPath(stem).stem
        return ParsedName(student=student_id(stem), file="" if self.kind == "folder" else self.name)


Named = tuple[Entry, ParsedName]


def entry_at(place: Path) -> Entry:
    """Return the entry at *place*, which may no longer exist."""
    return Entry(name=place.name, kind=_kind(place), list_files=cache(partial(_list_place, place)))


def entry_in(packed: PackedEntry) -> Entry:
    """Return the entry of a class's zip; a file with the name of a folder is left out."""
    if not packed.is_folder:
        kind = _kind_of_file(packed.name)
        return Entry(name=packed.name, kind=kind, list_files=cache(packed.list_files))

    def list_files() -> Listing:
        files, faults = packed.list_files()
        below = [file for file in files if len(file.path.parts) > 1]
        return [replace(file, path=file.path.relative_to(packed.name)) for file in below], faults

    return Entry(name=packed.name, kind="folder", list_files=cache(list_files))


def open_work(student: str, place: Path) -> StudentWork:
    """List the files at *place*; reads no file and raises no error."""
    entry, parsed = entry_at(place), parse_download_name(place.name)
    return open_entries(student, [(entry, parsed if parsed.platform else entry.plain_name())])


def open_entries(student: str, entries: Sequence[Named]) -> StudentWork:
    """List the files of *entries*, which belong to one student."""
    originals, faults = [], []
    for entry, parsed in entries:
        files, more = entry.list_files()
        if entry.kind != "folder":
            own = parsed.file if parsed.file.strip(".") else entry.name  # ".." is not a file name
            path = PurePosixPath(own)
            files = [replace(file, path=path, upload=parsed.upload) for file in files]
        originals += files
        faults += more
    files, more = _open_archives(originals)
    return StudentWork(
        student=student,
        files=tuple(files),
        faults=(*faults, *more),
        originals=tuple(originals),
        missing=tuple(faults),
        is_download=any(parsed.platform for _, parsed in entries),
        is_late=any(parsed.is_late for _, parsed in entries),
        is_typed=any(parsed.is_typed for _, parsed in entries),
    )


def _open_archives(originals: list[SubmittedFile]) -> Listing:
    """Replace each zip with its files, which come after all loose files.

    One limit applies to loose and packed files together. An archive that is not a zip is reported
    only if nothing else in its folder can be graded.
    """
    zips = [file for file in originals if file.suffix == ZIP][:MAX_ZIPS]
    files: list[SubmittedFile] = []
    faults: list[str] = []
    opened = set()
    budget = ArchiveBudget(files=MAX_ENTRIES - (len(originals) - len(zips)))
    for archive in zips:
        packed, more = open_archive(archive, budget)
        folder, upload = archive.path.parent, archive.upload
        files += [replace(file, path=folder / file.path, upload=upload) for file in packed]
        faults += [PlacedFault.at(archive.path, one) for one in more]
        if not more:
            opened.add(archive.path)
    files = [file for file in originals if file.path not in opened] + files
    code = [file.path for file in files if file.suffix in CODE]
    faults += [
        PlacedFault.at(file.path, repack(file.label))
        for file in originals
        if _is_other(file.path.name)
        and not any(path.is_relative_to(file.path.parent) for path in code)
    ]
    return files, faults[:MAX_FAULTS]


def open_folder(root: Path) -> Listing:
    """List the files below *root*, nearest to the top first, without following links."""
    files: list[SubmittedFile] = []
    faults: list[str] = []
    left = MAX_ENTRIES
    waiting = deque([PurePosixPath()])
    while waiting:
        folder = waiting.popleft()
        entries = _entries(root / folder, faults)
        for entry in entries[:left]:
            path, label = folder / entry.name, visible(entry.name)
            if not entry.is_dir(follow_symlinks=False):
                files.append(_file_at(Path(entry.path), path))
                is_file = entry.is_file(follow_symlinks=False)
                faults += [] if is_file else [PlacedFault.at(path, not_regular(label))]
            elif len(path.parts) <= MAX_DEPTH:
                waiting.append(path)
            else:
                faults.append(
                    f"The folder {label} is nested too deeply and was not opened. Flatten it."
                )
        left -= len(entries)
        if left < 0:
            faults.insert(0, _too_many((root / folder).name))
            break
    return files, faults[:MAX_FAULTS]


def is_folder(place: Path) -> bool:
    """Return whether *place* is a folder or a link to one; a link is reported as a fault later."""
    return os.path.isdir(place)  # noqa: PTH112 - Path.is_dir raises an error without permission


def is_code(place: Path) -> bool:
    """Return whether *place* has the name of a module or a notebook."""
    return place.suffix.lower() in CODE and not is_folder(place)


def is_archive(place: Path) -> bool:
    """Return whether *place* has the name of a zip or of any other archive."""
    return _kind(place) == "archive"


def repack(label: str) -> str:
    """Return the message that *label* is an archive but not a zip."""
    return (
        f"{label} is an archive in a format that the kit does not read. "
        "Unpack it, and pack its files into a .zip."
    )


def _kind(place: Path) -> Literal["folder", "archive", "code", "other"]:
    return "folder" if is_folder(place) else _kind_of_file(place.name)


def _kind_of_file(name: str) -> Literal["archive", "code", "other"]:
    suffix = PurePosixPath(name).suffix.lower()
    if suffix == ZIP or _is_other(name):
        return "archive"
    return "code" if suffix in CODE else "other"


def _is_other(name: str) -> bool:
    return _OTHER_ARCHIVE.search(name) is not None


def _list_place(place: Path) -> Listing:
    label = visible(place.name)
    try:
        kind = stat.S_IFMT(place.lstat().st_mode)
    except OSError as error:
        return [], [unreadable(label, error)]
    if kind == stat.S_IFDIR:
        return open_folder(place)
    if kind != stat.S_IFREG:
        return [], [not_regular(label)]
    return [_file_at(place, PurePosixPath(place.name))], []


def _file_at(place: Path, path: PurePosixPath) -> SubmittedFile:
    label = visible(place.name)
    return SubmittedFile(path=path, label=label, read=partial(read_regular, place), place=place)


def _entries(folder: Path, faults: list[str]) -> list[os.DirEntry[str]]:
    """Return the visible entries of *folder*, code first; add to *faults* if it can't be read."""
    try:
        with os.scandir(folder) as found:
            scanned = list(islice(found, MAX_SCANNED))
    except OSError as error:
        label = visible(folder.name)
        msg = f"The folder {label} could not be read ({reason(error)}). Check its permissions."
        faults.append(msg)
        return []
    kept = [entry for entry in scanned if not is_hidden_or_generated(PurePosixPath(entry.name))]
    return sorted(
        kept, key=lambda entry: (not entry.name.lower().endswith(tuple(CODE)), entry.name)
    )


def _too_many(name: str) -> str:
    return (
        f"There are more than {MAX_ENTRIES} files, and the search stopped in the folder "
        f"{visible(name)}. Submit code only, without a virtual environment or data."
    )


_MOST_WRAPPERS = 3  # folders around everything in a zip


def entries_of(folder: Path) -> list[Entry]:
    """Return the visible entries of *folder*; raise ``UsageError`` if that fails."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise unreadable_path(folder, error) from error
    shown = [name for name in names if not is_hidden_or_generated(PurePosixPath(name))]
    return [entry_at(folder / name) for name in shown]


def packed_entries(
    path: Path, resolver: StageResolver, is_student: Callable[[Entry], bool], *, is_class: bool
) -> list[Entry]:
    """Return the entries of the zip at *path*; raise ``UnusableFile`` if it can't be read.

    A folder around everything is skipped, unless it is the only student's: by its name, or because
    it holds a submission and the zip *is_class*.
    """
    archive = ClassArchive(path)
    entries = [entry_in(packed) for packed in archive.entries()]
    inside: tuple[str, ...] = ()
    while len(inside) < _MOST_WRAPPERS and (wrapper := _wrapper(entries, resolver, is_student)):
        inside = (*inside, wrapper)
        inner = [entry_in(packed) for packed in archive.entries(inside)]
        if is_class and holds_submission(inner, resolver):
            break
        entries = inner
    return entries


def _wrapper(
    entries: Sequence[Entry], resolver: StageResolver, is_student: Callable[[Entry], bool]
) -> str:
    """Return the name of the only folder of *entries*, if no other entry is a submission."""
    works = [entry for entry in entries if entry.is_work]
    if len(works) != 1 or works[0].kind != "folder":
        return ""
    if any(parse_download_name(entry.name).platform for entry in entries):
        return ""
    [only] = works
    return "" if resolver.stage_named(only.name) or is_student(only) else only.name


def holds_submission(entries: Sequence[Entry], resolver: StageResolver) -> bool:
    """Return whether *entries* are the files and folders of one student.

    They are if one has the name of a stage, or of a stage's module, notebook or lab, or a browser's
    copy of it; or if there is no folder, no archive, and at most one module or notebook. Two or
    more archives belong to a class.
    """
    kinds = [entry.kind for entry in entries]
    if kinds.count("archive") > 1:
        return False
    if any(resolver.matches(entry.name) for entry in entries):
        return True
    return not {"archive", "folder"} & set(kinds) and kinds.count("code") <= 1


def holds_stages(entry: Entry, resolver: StageResolver) -> bool:
    """Return whether *entry* is the folder of a student that contains folders of stages."""
    if entry.kind != "folder" or resolver.stage_named(entry.name):
        return False
    files, _ = entry.list_files()
    tops = {file.path.parts[0] for file in files if len(file.path.parts) > 1}
    return any(resolver.stage_named(top) for top in tops)


def unreadable_path(path: Path, error: OSError) -> UsageError:
    """Return the error for a *path* that the system can't read."""
    shown = visible(str(path))
    return UsageError(
        f"{shown} can't be read ({reason(error)}). Check the path and its permissions."
    )


def looks_like_class(entry: Entry, resolver: StageResolver, *, is_only: bool) -> bool:
    """Return whether *entry* holds the submissions of several students.

    It does if all names in it are those of one LMS. If it *is_only*, the only entry of a folder, it
    also does if two folders in it hold a submission each.
    """
    files, _ = entry.list_files()
    if entry.kind == "archive" and files:
        files, _ = open_archive(files[0])
    tops = {file.path.parts[0] for file in files}
    for lms in LMS:
        parsed = [parse_name(top, lms) for top in tops]
        if len({name.student for name in parsed if name}) > 1 and all(parsed):
            return True
    holders = {
        file.path.parts[0]
        for file in files
        if len(file.path.parts) > 1 and resolver.matches(file.path.parts[1])
    }
    return is_only and sum(resolver.stage_named(top) is None for top in holders) > 1
