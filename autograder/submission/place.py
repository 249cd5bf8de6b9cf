"""Opens the folders, archives and loose files that one student handed in."""

import os
import re
import stat
from collections import deque
from collections.abc import Iterable
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath

import msgspec

from autograder.submission.archive import open_archive
from autograder.submission.files import (
    CODE,
    HandInFile,
    Listing,
    is_hidden_or_generated,
    not_regular,
    read_regular,
    reason,
    unreadable,
)
from autograder.submission.model import HandIn
from autograder.submission.names import ParsedName, parse_download_name, student_id, visible

ZIP = ".zip"
MAX_ENTRIES = 2000  # honest submissions have some ten; more is a virtual environment or an attack
MAX_SCANNED = 50_000  # of one folder, so that a module among many images is found all the same
MAX_DEPTH = 12  # <student>/<stage>/ and whatever a zip tool wraps around it
MAX_FAULTS = 5  # sentences; the files that they are about are listed as ignored in any case
_OTHER_ARCHIVE = re.compile(r"(?i)\.(?:tar(?:\.\w+)?|tgz|tbz2?|txz|gz|bz2|xz|zst|rar|7z)$")


def open_hand_in(student: str, places: Iterable[Path]) -> HandIn:
    """List the files at *places*; reads no file and raises no error."""
    places = tuple(places)
    listings = [_open_place(place) for place in places]
    faults = tuple(fault for _, faults in listings for fault in faults)
    names = [parse_name(place) for place in places]
    return HandIn(
        student=student,
        files=tuple(file for files, _ in listings for file in files),
        faults=faults,
        is_bare=not faults and not any(is_folder(place) or is_archive(place) for place in places),
        by_lms=any(name.by_lms for name in names),
        is_late=any(name.is_late for name in names),
    )


def open_folder(root: Path) -> Listing:
    """List the files below *root*, nearest to the top first; no link is followed."""
    files: list[HandInFile] = []
    faults: list[str] = []
    left = MAX_ENTRIES
    waiting = deque([PurePosixPath()])
    while waiting:
        folder = waiting.popleft()
        entries = _entries(root / folder, faults)
        for entry in entries[:left]:
            path, label = folder / entry.name, visible(entry.name)
            if not entry.is_dir(follow_symlinks=False):
                read = partial(read_regular, Path(entry.path))
                files.append(HandInFile(path=path, label=label, read=read))
                faults += [] if entry.is_file(follow_symlinks=False) else [not_regular(label)]
            elif len(path.parts) <= MAX_DEPTH:
                waiting.append(path)
            else:
                faults.append(f"The folder {label} lies too deep and was not opened. Flatten it.")
        left -= len(entries)
        if left < 0:
            faults.insert(0, _too_many((root / folder).name))
            break
    return files, faults[:MAX_FAULTS]


def parse_name(place: Path) -> ParsedName:
    """Read the student and the file from the name of *place*."""
    parsed = parse_download_name(place.name)
    if parsed.by_lms or is_folder(place):
        return parsed
    stem = _OTHER_ARCHIVE.sub("", place.name) if is_archive(place) else place.name
    return msgspec.structs.replace(parsed, student=student_id(PurePosixPath(stem).stem))


def is_folder(place: Path) -> bool:
    """Return whether *place* is a folder, or a link to one: a student's, and a fault."""
    return os.path.isdir(place)  # noqa: PTH112 - Path.is_dir raises where it may not look


def is_code(place: Path) -> bool:
    """Return whether *place* is a module or a notebook by its name."""
    return place.suffix.lower() in CODE and not is_folder(place)


def is_archive(place: Path) -> bool:
    """Return whether *place* is, by its name, a zip or one of the archives that are refused."""
    is_named = place.suffix.lower() == ZIP or _OTHER_ARCHIVE.search(place.name)
    return bool(is_named) and not is_folder(place)


def repack(place: Path) -> str:
    """Say that *place* is an archive, but not a zip."""
    return (
        f"{visible(place.name)} is an archive of a kind that is not read. "
        "Unpack it, pack its files as a .zip, and use that."
    )


def _open_place(place: Path) -> Listing:
    label = visible(place.name)
    try:
        kind = stat.S_IFMT(place.lstat().st_mode)
    except OSError as error:
        return [], [unreadable(label, error)]
    if kind == stat.S_IFDIR:
        return _open_folder_or_its_zip(place)
    if kind != stat.S_IFREG:
        return [], [not_regular(label)]
    if place.suffix.lower() == ZIP:
        return open_archive(place)
    if is_archive(place):
        return [], [repack(place)]
    path = PurePosixPath(parse_download_name(place.name).file or place.name)
    return [HandInFile(path=path, label=label, read=partial(read_regular, place))], []


def _open_folder_or_its_zip(folder: Path) -> Listing:
    """Open a folder; one with a single zip and no code, as Moodle makes them, is that zip."""
    files, faults = open_folder(folder)
    zips = [file for file in files if file.suffix == ZIP]
    if len(zips) != 1 or any(file.suffix in CODE for file in files):
        return files, faults
    packed, more = open_archive(folder / zips[0].path)
    return files + packed, faults + more


def _entries(folder: Path, faults: list[str]) -> list[os.DirEntry[str]]:
    """Return what *folder* holds, code first; a folder that can't be read adds to *faults*."""
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
        f"There are more than {MAX_ENTRIES} files up to the folder {visible(name)}; the rest was "
        "not looked at. Hand in code only, without a virtual environment or data."
    )
