"""Reads zips in memory, and refuses a student's archive if one member is suspicious.

In the archive of a class, only the student's entry that contains this member is refused. No archive
is repaired, because a repaired name can equal that of another member, and because a student learns
of a refused archive but not of missing members. Nothing is extracted to disk, and only the members
that are graded are decompressed.
"""

import copy
import io
import re
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Self

import msgspec

from autograder.submission.files import (
    Listing,
    SubmittedFile,
    UnusableFile,
    check_size,
    is_hidden_or_generated,
    open_regular,
    read_regular,
    visible,
)
from autograder.submission.names import comparison_key, find_lms

MAX_MEMBERS = 2000  # the same as for folders; more means a virtual environment or an attack
MAX_TOTAL = 64 * 2**20  # bytes of all members; code has kilobytes, a notebook with plots some MiB
MAX_RATIO = 200  # deflate reaches 1032:1 on zeros, source and notebooks stay below 20:1
RATIO_FLOOR = 2**20  # bytes; smaller members do no harm at any ratio (an empty log, a blank image)
MAX_DIRECTORY = 2**20  # bytes that zipfile may read at once: 2000 members with 500 bytes each
MAX_CLASS_MEMBERS = 20_000  # 1000 students with 20 files each
MAX_CLASS_DIRECTORY = 4 * 2**20  # bytes: 20,000 members with 200 bytes each

# All operating systems and LMSs write these. bz2 and lzma decompress without a memory limit.
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 0x1 | 0x40 | 0x2000  # flag bits: encrypted, strongly encrypted, encrypted directory
_PLAIN_KINDS = frozenset({0, stat.S_IFREG, stat.S_IFDIR})  # 0: the system has no file modes
_TAIL = 2**16 + 22  # bytes at the end that zipfile reads first: a record and the longest comment
_REPACK = "Make a new zip of your files and submit it again."


class ZipSource(msgspec.Struct, frozen=True):
    """A zip on disk, or a zip inside a download; it is opened again for each read."""

    label: str  # the archive's name, safe to print
    read: Callable[[int], bytes]
    place: Path | None = None
    max_directory: int = MAX_DIRECTORY
    max_size: int = MAX_TOTAL  # bytes of an archive that is read into memory

    @classmethod
    def of(cls, file: Path | SubmittedFile, max_directory: int = MAX_DIRECTORY) -> Self:
        """Return the source of the zip *file*."""
        if isinstance(file, SubmittedFile):
            return cls(file.label, file.read, file.place, max_directory)
        return cls(visible(file.name), partial(read_regular, file), file, max_directory)

    @contextmanager
    def open(self) -> Iterator[zipfile.ZipFile]:
        """Open the archive; raise ``UnusableFile`` or an error of zipfile if that fails."""
        stream: _BoundedFile | _BoundedBytes
        if self.place is not None:  # zipfile reads only the parts that it needs
            stream = _BoundedFile(open_regular(self.place))
        else:
            stream = _BoundedBytes(self.read(self.max_size))
        stream.largest = self.max_directory
        with stream, zipfile.ZipFile(stream) as archive:
            yield archive


class ArchiveBudget(msgspec.Struct):
    """The number of files and bytes that further archives of one student may hold."""

    files: int = MAX_MEMBERS
    size: int = MAX_TOTAL  # bytes of all members, and of archives that are read into memory
    directory: int = MAX_DIRECTORY  # bytes

    def fault(self, members: Sequence[zipfile.ZipInfo]) -> str:
        """Return why an archive with *members* exceeds the budget; empty if it does not."""
        if len(members) <= self.files and _size(members) <= self.size:
            return ""
        return (
            f"was not opened: one student may submit at most {MAX_MEMBERS} files and "
            f"{MAX_TOTAL // 2**20} MiB."
        )

    def charge(self, members: Sequence[zipfile.ZipInfo]) -> None:
        """Subtract *members* from the budget."""
        self.files -= len(members)
        self.size -= _size(members)


def open_archive(file: Path | SubmittedFile, budget: ArchiveBudget | None = None) -> Listing:
    """List the files in a student's zip, within *budget*; reads no member and raises no error."""
    budget = budget or ArchiveBudget()
    source = ZipSource.of(file, budget.directory)
    try:
        members = _members(source, budget)
    except UnusableFile as error:
        return [], [str(error)]
    if fault := next(_faults(members), ""):
        return [], [f"The archive {source.label} {fault} {_REPACK}"]
    if fault := budget.fault(members):
        return [], [f"The archive {source.label} {fault} Submit code only, in one zip."]
    budget.charge(members)
    files = _files(source, list(enumerate(members)))
    return [msgspec.structs.replace(file, packed=True) for file in files], []


class ClassListing(dict[str, Listing]):
    """The files of each entry of a class's zip; *wrapper* is the folder around all of them."""

    wrapper = ""


def open_class_archive(path: Path) -> ClassListing:
    """List the files of each entry in a class's zip; raise ``UnusableFile`` if that fails.

    Only the entry that contains a fault is refused. A single folder around everything is skipped.
    """
    source = ZipSource.of(path, MAX_CLASS_DIRECTORY)
    members = list(enumerate(_members(source)))
    if len(members) > MAX_CLASS_MEMBERS:
        msg = f"The archive {source.label} contains more than {MAX_CLASS_MEMBERS} files."
        raise UnusableFile(msg)
    shown = [item for item in members if not is_hidden_or_generated(_path(item[1]))]
    depth = 1 if _is_wrapped([_path(member) for _, member in shown]) else 0
    entries: dict[str, list[tuple[int, zipfile.ZipInfo]]] = {}
    for index, member in shown:
        if len(parts := _path(member).parts) > depth:
            entries.setdefault(parts[depth], []).append((index, member))
    listing = ClassListing()
    listing.update((name, _entry(source, name, found, depth)) for name, found in entries.items())
    listing.wrapper = _path(shown[0][1]).parts[0] if depth else ""
    return listing


def _entry(
    source: ZipSource, name: str, members: list[tuple[int, zipfile.ZipInfo]], depth: int
) -> Listing:
    if fault := next(_faults([member for _, member in members]), ""):
        return [], [f"{visible(name)} {fault} Submit it again, without that file."]
    files = _files(source, members)
    return [
        msgspec.structs.replace(file, path=PurePosixPath(*file.path.parts[depth:]))
        for file in files
    ], []


def _is_wrapped(paths: Sequence[PurePosixPath]) -> bool:
    """Return whether all *paths* are in one folder that no LMS named after a student."""
    tops = {path.parts[0] for path in paths if path.parts}
    is_folder = any(len(path.parts) > 1 for path in paths)
    return len(tops) == 1 and is_folder and not find_lms(tops)


class _Bounded:
    """Refuses to read large pieces of a file.

    zipfile reads the whole directory at once and makes an object for every 46 bytes. Without this
    limit, a forged directory of 64 MiB would take a gigabyte before its members can be counted.
    """

    largest = MAX_DIRECTORY

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:  # the rest; zipfile asks for it only near the end
            size = _TAIL
        if size > self.largest:
            msg = "its directory is too large"
            raise zipfile.BadZipFile(msg)
        return super().read(size) or b""  # type: ignore[misc]  # the other base class is a stream


class _BoundedFile(_Bounded, io.FileIO):
    """Reads a zip on disk, and refuses large pieces."""


class _BoundedBytes(_Bounded, io.BytesIO):
    """Reads a zip that was decompressed from another zip, and refuses large pieces."""


def _members(source: ZipSource, budget: ArchiveBudget | None = None) -> list[zipfile.ZipInfo]:
    """List the members in the directory of a zip; raise ``UnusableFile`` if that fails.

    The bytes that it reads are subtracted from *budget*, even if the archive is refused later.
    """
    if budget is not None and source.place is None:
        source = msgspec.structs.replace(source, max_size=max(0, budget.size))
    try:
        with source.open() as archive:
            if budget is not None and archive.fp is not None:
                end = archive.fp.seek(0, io.SEEK_END)
                budget.directory -= end - archive.start_dir
                budget.size -= 0 if source.place else end
            return archive.infolist()
    except UnusableFile:
        raise
    except Exception as error:  # damaged bytes raise about a dozen types of errors
        raise UnusableFile(_damaged(source.label, error)) from error


def _path(member: zipfile.ZipInfo) -> PurePosixPath:
    return PurePosixPath(member.filename)


def _faults(members: Sequence[zipfile.ZipInfo]) -> Iterator[str]:
    """Yield reasons to refuse the whole archive, the cheapest tests first."""
    if len(members) > MAX_MEMBERS:
        yield f"contains more than {MAX_MEMBERS} files and was not opened."
        return
    for member in members:
        if reason := _unsafe(member):
            yield f"was not opened: its member {visible(member.orig_filename)} {reason}."
    if duplicate := _duplicate([member for member in members if not member.is_dir()]):
        yield f"was not opened: two of its members are named {visible(duplicate)}."
    if _size(members) > MAX_TOTAL:
        yield f"unpacks to more than {MAX_TOTAL // 2**20} MiB and was not opened."


def _size(members: Sequence[zipfile.ZipInfo]) -> int:
    return sum(member.file_size for member in members)


def _unsafe(member: zipfile.ZipInfo) -> str:
    """Return why *member* makes the archive unsafe; empty if it does not."""
    name, largest = member.orig_filename, max(RATIO_FLOOR, MAX_RATIO * member.compress_size)
    reasons = {
        "has a NUL character in its name": "\0" in name,
        "has a backslash in its name": "\\" in name,
        "has an absolute path": name.startswith("/") or re.match(r"[A-Za-z]:", name),
        "points out of the archive": ".." in name.split("/"),
        "has no name": not PurePosixPath(name).parts,
        "is a link or a special file": stat.S_IFMT(member.external_attr >> 16) not in _PLAIN_KINDS,
        "is encrypted": member.flag_bits & _ENCRYPTED,
        "is not compressed by deflate": member.compress_type not in _METHODS,
        f"is compressed more than {MAX_RATIO}:1": member.file_size > largest,
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def _duplicate(members: Sequence[zipfile.ZipInfo]) -> str:
    """Return the first name that some file system can't distinguish from an earlier one, or ""."""
    seen: set[tuple[str, ...]] = set()
    for member in members:
        # Windows drops dots and spaces at the end of a name.
        parts = PurePosixPath(member.filename).parts
        key = tuple(comparison_key(part).rstrip(". ") for part in parts)
        if key in seen:
            return member.filename
        seen.add(key)
    return ""


def _files(
    source: ZipSource, members: Sequence[tuple[int, zipfile.ZipInfo]]
) -> Iterator[SubmittedFile]:
    for index, member in members:
        name = _path(member)
        if not member.is_dir() and not is_hidden_or_generated(name):
            # Each read opens the archive again, because nobody would close an open one.
            read = partial(_read_member, source, index, member)
            yield SubmittedFile(path=name, label=visible(name.name), read=read)


def _read_member(source: ZipSource, index: int, seen: zipfile.ZipInfo, limit: int) -> bytes:
    label = visible(_path(seen).name)
    try:
        with source.open() as archive:
            member = archive.infolist()[index]
            data = check_size(_inflate(archive, member, limit), limit, label)
    except UnusableFile:
        raise
    except Exception as error:
        raise UnusableFile(_damaged(source.label, error)) from error
    if len(data) != seen.file_size:
        msg = (
            f"The archive {source.label} is damaged: {label} has {len(data)} bytes, "
            f"its directory says {seen.file_size}. {_REPACK}"
        )
        raise UnusableFile(msg)
    return data


def _inflate(archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int) -> bytes:
    """Decompress *member* to its real end, but to at most *limit* + 1 bytes.

    zipfile stops at the size that the directory claims, so a longer member would not be noticed.
    Therefore the copy of *member* claims the largest possible size, and zipfile reads to the end.
    """
    claim = copy.copy(member)
    claim.file_size = sys.maxsize
    with archive.open(claim) as stream:
        return stream.read(limit + 1)


def _damaged(label: str, error: Exception) -> str:
    reason = visible(str(error)) or type(error).__name__
    return f"The archive {label} could not be read ({reason}). {_REPACK}"
