"""Reads zips in memory, and refuses a student's archive if one member is suspicious.

In the archive of a class, only the student's entry that contains this member is refused. No archive
is repaired, because a repaired name can equal that of another member, and because a student learns
of a refused archive but not of missing members. Nothing is extracted to disk, and only the members
that are graded are decompressed.
"""

import io
import re
import stat
import struct
import zipfile
import zlib
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
from autograder.submission.names import comparison_key

MAX_MEMBERS = 2000  # the same as for folders; more means a virtual environment or an attack
MAX_TOTAL = 64 * 2**20  # bytes of all members; code has kilobytes, a notebook with plots some MiB
MAX_RATIO = 200  # deflate reaches 1032:1 on zeros, source and notebooks stay below 20:1
RATIO_FLOOR = 2**20  # bytes; smaller members do no harm at any ratio (an empty log, a blank image)
MAX_DIRECTORY = 2**20  # bytes that zipfile may read at once: 2000 members with 500 bytes each
MAX_NAME = 4096  # characters of a path, as on Linux
MAX_CLASS_MEMBERS = 20_000  # 1000 students with 20 files each
MAX_CLASS_DIRECTORY = 4 * 2**20  # bytes: 20,000 members with 200 bytes each

# All operating systems and LMSs write these. bz2 and lzma decompress without a memory limit.
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 0x1 | 0x40 | 0x2000  # flag bits: encrypted, strongly encrypted, encrypted directory
_PLAIN_KINDS = frozenset({0, stat.S_IFREG, stat.S_IFDIR})  # 0: the system has no file modes
_TAIL = 2**16 + 22  # bytes at the end that zipfile reads first: a record and the longest comment
_PIECE = 2**16  # bytes that are decompressed at once
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # before each file: signature, sizes of name and extra
_LOCAL_SIGNATURE = b"PK\x03\x04"
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
    def open(self) -> "Iterator[_BoundedFile | _BoundedBytes]":
        """Open the archive's bytes; any error in the block becomes ``UnusableFile``."""
        stream: _BoundedFile | _BoundedBytes
        if self.place is not None:  # only the parts that are needed are read
            stream = _BoundedFile(open_regular(self.place))
        else:
            stream = _BoundedBytes(self.read(self.max_size))
        stream.largest = self.max_directory
        with stream:
            try:
                yield stream
            except UnusableFile:
                raise
            except Exception as error:  # damaged bytes raise about a dozen types of errors
                why = visible(str(error)) or type(error).__name__
                msg = f"The archive {self.label} could not be read ({why}). {_REPACK}"
                raise UnusableFile(msg) from error


class ArchiveBudget(msgspec.Struct):
    """The number of files and bytes that further archives of one student may hold."""

    files: int = MAX_MEMBERS
    size: int = MAX_TOTAL  # bytes of all members, and of archives that are read into memory
    directory: int = MAX_DIRECTORY  # bytes


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
    left = budget.files - len(members), budget.size - _size(members)
    if min(left) < 0:
        most = f"at most {MAX_MEMBERS} files and {MAX_TOTAL // 2**20} MiB"
        fault = f"was not opened: one student may submit {most}. Submit code only, in one zip."
        return [], [f"The archive {source.label} {fault}"]
    budget.files, budget.size = left
    files = _files(source, members)
    return [msgspec.structs.replace(file, packed=True) for file in files], []


class PackedEntry(msgspec.Struct, frozen=True):
    """An entry of a class's zip, with its members."""

    name: str
    source: ZipSource
    members: tuple[zipfile.ZipInfo, ...]
    depth: int  # the number of folders around the entry

    @property
    def is_folder(self) -> bool:
        """Whether the entry is a folder."""
        return any(
            member.is_dir() or len(_path(member).parts) > self.depth + 1 for member in self.members
        )

    def list_files(self) -> Listing:
        """List the files, or return a fault if one member is suspicious."""
        if fault := next(_faults(self.members), ""):
            return [], [f"{visible(self.name)} {fault} Submit it again, without that file."]
        return [
            msgspec.structs.replace(file, path=PurePosixPath(*file.path.parts[self.depth :]))
            for file in _files(self.source, self.members)
        ], []


class ClassArchive:
    """The zip of a class, of which only entries with a suspicious member are refused."""

    def __init__(self, path: Path) -> None:
        self._source = ZipSource.of(path, MAX_CLASS_DIRECTORY)
        members = _members(self._source)
        if len(members) > MAX_CLASS_MEMBERS:
            msg = f"The archive {self._source.label} contains more than {MAX_CLASS_MEMBERS} files."
            raise UnusableFile(msg)
        self._members = [item for item in members if not is_hidden_or_generated(_path(item))]

    def entries(self, inside: tuple[str, ...] = ()) -> list[PackedEntry]:
        """Return the entries in the folder *inside*, in the order of the archive."""
        found: dict[str, list[zipfile.ZipInfo]] = {}
        depth = len(inside)
        for member in self._members:
            parts = _path(member).parts
            if len(parts) > depth and parts[:depth] == inside:
                found.setdefault(parts[depth], []).append(member)
        return [
            PackedEntry(name, self._source, tuple(members), depth)
            for name, members in found.items()
        ]


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
            raise zipfile.BadZipFile("its directory is too large")
        return super().read(size) or b""  # type: ignore[misc]  # the other base class is a stream


class _BoundedFile(_Bounded, io.FileIO):
    """Reads a zip on disk, and refuses large pieces."""


class _BoundedBytes(_Bounded, io.BytesIO):
    """Reads a zip that was decompressed from another zip, and refuses large pieces."""


def _members(source: ZipSource, budget: ArchiveBudget | None = None) -> list[zipfile.ZipInfo]:
    """List the members of a zip; the bytes read are charged to *budget*, even if it is refused."""
    if budget is not None and source.place is None:
        source = msgspec.structs.replace(source, max_size=max(0, budget.size))
    with source.open() as stream, zipfile.ZipFile(stream) as archive:
        if budget is not None:
            end = stream.seek(0, io.SEEK_END)
            budget.directory -= end - archive.start_dir
            budget.size -= 0 if source.place else end
        members = archive.infolist()
    for member in members:  # some programs for Windows write `\\`; the checks come after this
        member.filename = member.filename.replace("\\", "/")
    return members


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
    name = member.orig_filename.replace("\\", "/")
    largest = max(RATIO_FLOOR, MAX_RATIO * member.compress_size)
    reasons = {
        "has a NUL character in its name": "\0" in name,
        f"has a name of more than {MAX_NAME} characters": len(name) > MAX_NAME,
        "has an absolute path": name.startswith("/") or re.match(r"[A-Za-z]:", name),
        "points out of the archive": ".." in name.split("/"),
        "has no name": not PurePosixPath(name).parts,
        "is a link or a special file": stat.S_IFMT(member.external_attr >> 16) not in _PLAIN_KINDS,
        "is encrypted": member.flag_bits & _ENCRYPTED,
        "is not compressed by deflate (try Explorer, Finder)": member.compress_type not in _METHODS,
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


def _files(source: ZipSource, members: Sequence[zipfile.ZipInfo]) -> Iterator[SubmittedFile]:
    for member in members:
        name = _path(member)
        if not member.is_dir() and not is_hidden_or_generated(name):
            # Each read opens the archive again, because nobody would close an open one.
            read = partial(_read_member, source, member)
            yield SubmittedFile(path=name, label=visible(name.name), read=read)


def _read_member(source: ZipSource, member: zipfile.ZipInfo, limit: int) -> bytes:
    label = visible(_path(member).name)
    with source.open() as stream:
        data = check_size(_inflate(stream, member, limit), limit, label)
    if len(data) != member.file_size:
        raise UnusableFile(
            f"The archive {source.label} is damaged: {label} has {len(data)} bytes, "
            f"its directory says {member.file_size}. {_REPACK}"
        )
    return data


def _inflate(stream: _BoundedFile | _BoundedBytes, member: zipfile.ZipInfo, limit: int) -> bytes:
    """Decompress *member* to its real end, but to at most *limit* + 1 bytes.

    zipfile would read the whole directory again for each member, and stop at the size that the
    directory claims.
    """
    stream.seek(member.header_offset)
    signature, name_size, extra_size = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
    if signature != _LOCAL_SIGNATURE:
        raise zipfile.BadZipFile("a file is not where its directory says")
    stream.seek(name_size + extra_size, io.SEEK_CUR)
    is_stored = member.compress_type == zipfile.ZIP_STORED
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    data, left = bytearray(), member.compress_size
    while left > 0 and len(data) <= limit and (piece := stream.read(min(left, _PIECE))):
        left -= len(piece)
        rest = limit + 1 - len(data)
        data += piece[:rest] if is_stored else inflater.decompress(piece, rest)
    if len(data) <= limit and zlib.crc32(data) != member.CRC:
        raise zipfile.BadZipFile("a checksum is wrong")
    return bytes(data)
