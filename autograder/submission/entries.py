"""Lists the entries of a folder or a zip, and recognizes those of a class."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath

from autograder.errors import UsageError
from autograder.submission.archive import MAX_CLASS_MEMBERS, open_class_archive
from autograder.submission.files import UnusableFile, is_hidden_or_generated, reason, visible
from autograder.submission.names import StageResolver, find_lms, parse_download_name
from autograder.submission.place import ZIP, Entry, entry_at, is_folder, packed_entry


class Entries:
    """The entries at the top of a folder or archive; *open_entry* returns an entry by its name.

    *wrapper* is the single folder around everything in an archive, if there is one.
    """

    def __init__(
        self, names: Iterable[str], open_entry: Callable[[str], Entry], wrapper: str = ""
    ) -> None:
        self.names = tuple(names)
        self.open_entry = open_entry
        self.wrapper = wrapper

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Entry]:
        return map(self.open_entry, self.names)


def packed_class(path: Path, resolver: StageResolver) -> Entries | None:
    """Return the entries of the class in the zip at *path*; None if it is one student's."""
    if path.suffix.lower() != ZIP or parse_download_name(path.name).by_lms:
        return None
    try:
        entries = packed_entries(path)
    except UnusableFile:
        return None  # the submission will report the reason
    is_download = _is_download(entries.names)
    are_zips = len(entries) > 1 and all(entry.kind == "archive" for entry in entries)
    is_tree = all(_holds_stages(entry, resolver) for entry in entries) and len(entries) > 1
    return entries if len(entries) and (is_download or are_zips or is_tree) else None


def packed_entries(path: Path) -> Entries:
    """Return the entries of the zip at *path*; raise ``UnusableFile`` if that fails."""
    listing = open_class_archive(path)
    return Entries(listing, lambda name: packed_entry(name, listing[name]), listing.wrapper)


def class_inside(path: Path, resolver: StageResolver) -> Entries | None:
    """Return the entries of the class in the folder or zip at *path*; None if it is not a class."""
    if path.is_symlink():  # a student may have made it, and it may point anywhere
        return None
    if not is_folder(path):
        return packed_class(path, resolver)
    try:
        with os.scandir(path) as found:
            names = [entry.name for entry in islice(found, MAX_CLASS_MEMBERS)]
        shown = [name for name in names if not is_hidden_or_generated(PurePosixPath(name))]
        is_class = _is_download(shown) and not parse_download_name(path.name).by_lms
        return entries_of(path) if is_class else None
    except (OSError, UsageError):
        return None  # the submission will report the reason


def holds_several(entries: Entries | None) -> bool:
    """Return whether *entries* belong to more than one student."""
    return len({entry.parse_name().student for entry in entries or ()}) > 1


def _is_download(names: Sequence[str]) -> bool:
    """Return whether an LMS made all *names*."""
    lms = find_lms(names)
    return bool(names) and all(parse_download_name(name, lms).by_lms for name in names)


def _holds_stages(entry: Entry, resolver: StageResolver) -> bool:
    """Return whether *entry* is a folder of a student that contains folders of stages."""
    files, _ = entry.list_files()
    tops = {file.path.parts[0] for file in files if len(file.path.parts) > 1}
    return entry.kind == "folder" and not resolver.stage_named(entry.name) and any(
        resolver.stage_named(top) for top in tops
    )  # fmt: skip


def entries_of(folder: Path) -> Entries:
    """Return the visible entries of *folder*; raise ``UsageError`` if that fails."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208  # a Path takes ten times the memory of a name
    except OSError as error:
        raise unreadable_path(folder, error) from error
    shown = (name for name in names if not is_hidden_or_generated(PurePosixPath(name)))
    return Entries(shown, lambda name: entry_at(folder / name))


def unreadable_path(path: Path, error: OSError) -> UsageError:
    """Return the error for a *path* that the system can't read."""
    shown = visible(str(path))
    return UsageError(
        f"{shown} can't be read ({reason(error)}). Check the path and its permissions."
    )
