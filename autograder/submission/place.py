"""One place on disk, of whatever kind, as a bundle."""

import os
import re
import stat
from functools import partial
from pathlib import Path, PurePosixPath

import msgspec

from autograder.submission.archive import open_archive
from autograder.submission.files import (
    HandInFile,
    HandInFiles,
    not_regular,
    read_regular,
    unreadable,
)
from autograder.submission.folder import open_folder
from autograder.submission.names import ParsedName, parse_download_name, student_id, visible

CODE = frozenset({".py", ".ipynb"})
ZIP = ".zip"
_OTHER_ARCHIVE = re.compile(
    r"\.(?:tar(?:\.\w+)?|tgz|tbz2?|txz|gz|bz2|xz|zst|rar|7z)$", re.IGNORECASE
)


def open_place(place: Path) -> HandInFiles:
    """List what lies at *place*; nothing is read yet, nothing is raised."""
    label = visible(place.name)
    try:
        kind = stat.S_IFMT(place.lstat().st_mode)
    except OSError as error:
        return HandInFiles(faults=(unreadable(label, error),))
    if kind == stat.S_IFDIR:
        return _open_folder(place)
    if kind != stat.S_IFREG:
        return HandInFiles(faults=(not_regular(label),))
    if place.suffix.lower() == ZIP:
        return open_archive(place)
    if is_archive(place):
        return HandInFiles(faults=(repack(place),))
    return HandInFiles(files=(_loose(place),), bare=True)


def parse_name(place: Path) -> ParsedName:
    """Read whose *place* is from its name."""
    told = parse_download_name(place.name)
    if told.by_lms or is_folder(place):
        return told
    stem = _OTHER_ARCHIVE.sub("", place.name) if is_archive(place) else place.name
    return msgspec.structs.replace(told, student=student_id(PurePosixPath(stem).stem))


def is_folder(place: Path) -> bool:
    """Tell whether *place* is a folder, or a link to one: that is somebody's, and a fault."""
    return os.path.isdir(place)  # noqa: PTH112 - Path.is_dir raises where it may not look


def is_code(place: Path) -> bool:
    """Tell whether *place* is a module or a notebook by its name."""
    return place.suffix.lower() in CODE and not is_folder(place)


def is_archive(place: Path) -> bool:
    """Tell whether *place* is a zip, or one of those that are refused, by its name."""
    is_named = place.suffix.lower() == ZIP or _OTHER_ARCHIVE.search(place.name)
    return bool(is_named) and not is_folder(place)


def repack(place: Path) -> str:
    """Say that *place* is an archive, but not a zip."""
    return (
        f"{visible(place.name)} is an archive of a kind that is not read. "
        "Unpack it, pack its files as a .zip, and use that."
    )


def _open_folder(folder: Path) -> HandInFiles:
    """Open a folder; one that holds a zip instead of code, as Moodle makes them, is that zip."""
    bundle = open_folder(folder)
    zips = [found for found in bundle.files if found.suffix == ZIP]
    if len(zips) != 1 or any(found.suffix in CODE for found in bundle.files):
        return bundle
    return HandInFiles.joined((bundle, open_archive(folder / zips[0].path)))


def _loose(place: Path) -> HandInFile:
    path = PurePosixPath(parse_download_name(place.name).file or place.name)
    return HandInFile(path=path, label=visible(place.name), read=partial(read_regular, place))
