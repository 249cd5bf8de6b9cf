"""Finds the hand-ins below a path: a whole class, or one student's."""

import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from autograder.errors import UsageError
from autograder.submission.files import is_hidden_or_generated, reason
from autograder.submission.names import parse_download_name, visible
from autograder.submission.place import ZIP, is_archive, is_code, is_folder, parse_name, repack
from autograder.submission.stage_matching import StageResolver


def find_hand_ins(path: Path, resolver: StageResolver) -> dict[str, list[Path]]:
    """Return what each student handed in at *path*, sorted by student; raises ``UsageError``."""
    if _is_file(path):
        return {_student_of_file(path, resolver): [path]}
    entries = _entries(path)
    if _is_one_submission(entries, resolver):
        student = _student_of_folder((path, *path.parents), resolver)
        return {student or parse_name(path).student: [path]}
    return _find_class(entries)


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
        raise UsageError(repack(path))
    msg = (
        f"{visible(path.name)} is no submission. "
        "Name a folder, a .zip, a module (.py) or a notebook (.ipynb)."
    )
    raise UsageError(msg)


def _is_one_submission(entries: list[Path], resolver: StageResolver) -> bool:
    """Apply the rule that ``collect`` documents."""
    archives = sum(map(is_archive, entries))
    if archives > 1 or any(parse_name(entry).by_lms for entry in entries):
        return False
    if any(resolver.matches(entry.name) for entry in entries):
        return True
    return archives == 0 and not any(map(is_folder, entries)) and sum(map(is_code, entries)) <= 1


def _find_class(entries: list[Path]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for entry in entries:
        parsed = parse_name(entry)
        # Any other file, such as a list of marks, belongs to no student.
        if parsed.by_lms or is_code(entry) or is_archive(entry) or is_folder(entry):
            found.setdefault(parsed.student, []).append(entry)
    return dict(sorted(found.items()))


def _entries(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise _unreadable(folder, error) from error
    return [entry for entry in entries if not is_hidden_or_generated(PurePosixPath(entry.name))]


def _student_of_file(path: Path, resolver: StageResolver) -> str:
    """Read the student from the file's name, or from its folder where that names a stage."""
    parsed = parse_name(path)
    if parsed.by_lms or not resolver.matches(path.name):
        return parsed.student
    return _student_of_folder(path.parents, resolver) or parsed.student


def _student_of_folder(folders: Iterable[Path], resolver: StageResolver) -> str:
    """Read the student from the nearest folder that is not named like a stage."""
    names = (folder.name for folder in folders if folder.name)
    own = (name for name in names if resolver.stage_named(name) is None)
    return next((parse_download_name(name).student for name in own), "")


def _unreadable(path: Path, error: OSError) -> UsageError:
    shown = visible(str(path))
    return UsageError(f"{shown} can't be read ({reason(error)}). Check path and permissions.")
