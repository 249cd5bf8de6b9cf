"""One place on disk, of whatever kind, as a bundle."""

import os
import re
import stat
from functools import partial
from pathlib import Path, PurePosixPath

import msgspec

from autograder.submission.archive import open_archive
from autograder.submission.bundle import Bundle, Found, not_regular, read_regular, unreadable
from autograder.submission.folder import open_folder
from autograder.submission.names import HandedIn, handed_in, student_id, visible

CODE = frozenset({".py", ".ipynb"})
ZIP = ".zip"
_OTHER_ARCHIVE = re.compile(
    r"\.(?:tar(?:\.\w+)?|tgz|tbz2?|txz|gz|bz2|xz|zst|rar|7z)$", re.IGNORECASE
)


def open_place(place: Path) -> Bundle:
    """List what lies at *place*; nothing is read yet, nothing is raised."""
    label = visible(place.name)
    try:
        kind = stat.S_IFMT(place.lstat().st_mode)
    except OSError as error:
        return Bundle(faults=(unreadable(label, error),))
    if kind == stat.S_IFDIR:
        return _open_folder(place)
    if kind != stat.S_IFREG:
        return Bundle(faults=(not_regular(label),))
    if place.suffix.lower() == ZIP:
        return open_archive(place)
    if is_archive(place):
        return Bundle(faults=(repack(place),))
    return Bundle(files=(_loose(place),), bare=True)


def told_by_name(place: Path) -> HandedIn:
    """Read whose *place* is from its name."""
    told = handed_in(place.name)
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


def _open_folder(folder: Path) -> Bundle:
    """Open a folder; one that holds a zip instead of code, as Moodle makes them, is that zip."""
    bundle = open_folder(folder)
    zips = [found for found in bundle.files if found.suffix == ZIP]
    if len(zips) != 1 or any(found.suffix in CODE for found in bundle.files):
        return bundle
    return Bundle.joined((bundle, open_archive(folder / zips[0].path)))


def _loose(place: Path) -> Found:
    path = PurePosixPath(handed_in(place.name).file or place.name)
    return Found(path=path, label=visible(place.name), read=partial(read_regular, place))
