"""Whose hand-in lies where: the rule that tells a class from one student's folder."""

import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import msgspec

from autograder.errors import UsageError
from autograder.submission.files import HandInFiles, is_hidden_or_generated
from autograder.submission.names import parse_download_name, visible
from autograder.submission.place import (
    is_archive,
    is_code,
    is_folder,
    open_place,
    parse_name,
    repack,
)
from autograder.submission.stage_matching import StageResolver


class HandIn(msgspec.Struct, frozen=True, kw_only=True):
    """All that one student handed in."""

    student: str
    places: tuple[Path, ...]
    late: bool = False

    def open(self) -> HandInFiles:
        """List what lies there; nothing is read yet."""
        return HandInFiles.joined(open_place(place) for place in self.places)


def hand_ins(path: Path, resolver: StageResolver) -> list[HandIn]:
    """Return who handed in what at *path*, sorted by student; raises ``UsageError``."""
    kind = _kind(path)
    if kind == stat.S_IFREG:
        _check_supported(path)
        student = _of_file(path, resolver)
    elif _is_one_submission(path, resolver):
        student = _of_folder(path, resolver)
    else:
        return _class(path)
    return [HandIn(student=student, places=(path,), late=parse_name(path).late)]


def _kind(path: Path) -> int:
    try:
        kind = stat.S_IFMT(path.lstat().st_mode)
    except OSError as error:
        raise _unusable(path, error) from error
    if kind not in {stat.S_IFDIR, stat.S_IFREG}:
        # The shell may have expanded a `*` to a link that a student planted.
        msg = (
            f"{visible(str(path))} is a link or no ordinary file, and links are not followed. "
            "Name the folder or the file itself."
        )
        raise UsageError(msg)
    return kind


def _check_supported(path: Path) -> None:
    if path.suffix.lower() == ".zip" or is_code(path):
        return
    if is_archive(path):
        raise UsageError(repack(path))
    msg = (
        f"{visible(path.name)} is no submission. "
        "Name a folder, a .zip, a module (.py) or a notebook (.ipynb)."
    )
    raise UsageError(msg)


def _is_one_submission(folder: Path, resolver: StageResolver) -> bool:
    """Apply the rule that ``collect`` documents."""
    top = _top(folder)
    archives = sum(map(is_archive, top))
    if archives > 1 or any(parse_name(place).by_lms for place in top):
        return False
    if any(resolver.knows(place.name) for place in top):
        return True
    return archives == 0 and not any(map(is_folder, top)) and sum(map(is_code, top)) <= 1


def _class(folder: Path) -> list[HandIn]:
    places: dict[str, list[Path]] = {}
    late: set[str] = set()
    for place in _top(folder):
        told = parse_name(place)
        # What else lies there, such as a list of marks, is nobody's work.
        if told.by_lms or is_code(place) or is_archive(place) or is_folder(place):
            places.setdefault(told.student, []).append(place)
            late.update({told.student} if told.late else ())
    return [
        HandIn(student=student, places=tuple(places[student]), late=student in late)
        for student in sorted(places)
    ]


def _top(folder: Path) -> list[Path]:
    try:
        places = sorted(folder.iterdir())
    except OSError as error:
        raise _unusable(folder, error) from error
    return [place for place in places if not is_hidden_or_generated(PurePosixPath(place.name))]


def _of_file(path: Path, resolver: StageResolver) -> str:
    """Tell by the file's own name, unless that is a stage's; then its folder tells."""
    told = parse_name(path)
    if told.by_lms or not resolver.knows(path.name):
        return told.student
    return next(_people(path.parents, resolver), told.student)


def _of_folder(path: Path, resolver: StageResolver) -> str:
    return next(_people((path, *path.parents), resolver), parse_name(path).student)


def _people(folders: Iterable[Path], resolver: StageResolver) -> Iterator[str]:
    for folder in folders:
        if folder.name and resolver.named(folder.name) is None:
            yield parse_download_name(folder.name).student


def _unusable(path: Path, error: OSError) -> UsageError:
    reason = error.strerror or type(error).__name__
    return UsageError(f"{visible(str(path))} can't be read ({reason}). Check path and permissions.")
