"""Lists the entries at the top of a folder or of a zip, and tells a class from one submission."""

from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from autograder.errors import UsageError
from autograder.submission.archive import ClassArchive, open_archive
from autograder.submission.download_names import LMS, parse_download_name, parse_name
from autograder.submission.files import is_hidden_or_generated, reason, visible
from autograder.submission.names import StageResolver
from autograder.submission.place import Entry, entry_at, entry_in

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
