"""Reads submitted files without following a link, and makes their names safe to print."""

import errno
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

import msgspec

MODULE = ".py"
NOTEBOOK = ".ipynb"
CODE = frozenset({MODULE, NOTEBOOK})
MAX_SHOWN = 120  # characters of one name in a message; file systems allow 255, a line does not
MAX_LISTED = 50  # names in one list; a student's virtual environment has thousands

# On Windows both are absent, and so are FIFOs and, for ordinary accounts, links.
_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)  # a link that replaced the file after the check
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO would wait for a writer forever
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)  # else Windows changes line endings
)
# What editors, interpreters and operating systems leave behind.
_GENERATED = frozenset({"__pycache__", "__MACOSX", "Thumbs.db", "desktop.ini"})


class UnusableFile(Exception):  # noqa: N818 - not our error: its text is a message to the student
    """A file that can't be graded; its text says what happened, where, and what to do next."""


class SubmittedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a submission; ``read(limit)`` returns its bytes or raises ``UnusableFile``."""

    path: PurePosixPath  # relative to the submission
    label: str  # file name as submitted, safe to print
    read: Callable[[int], bytes]
    packed: bool = False  # in a student's archive, where every file is their own
    place: Path | None = None  # where it lies on disk; None in an archive
    upload: int = 0  # the LMS's number of the file, which counts up; 0 if it has none

    @property
    def suffix(self) -> str:
        """The file name's suffix in lower case, such as ``.py``."""
        return self.path.suffix.lower()


class StudentWork(msgspec.Struct, frozen=True, kw_only=True):
    """All files of one student; their names are listed, their bytes are not read yet."""

    student: str
    files: tuple[SubmittedFile, ...] = ()
    faults: tuple[str, ...] = ()  # sentences on what could not be opened
    originals: tuple[SubmittedFile, ...] = ()  # as submitted: an archive is one file
    missing: tuple[str, ...] = ()  # those of the faults that cost an original
    by_lms: bool = False  # downloaded from an LMS
    is_late: bool = False  # by the LMS's own mark


Listing = tuple[list[SubmittedFile], list[str]]  # files, and sentences on what could not be opened


def is_hidden_or_generated(path: PurePosixPath) -> bool:
    """Return whether some part of *path* is hidden, or made by a program and not by a student."""
    return any(part in _GENERATED or part.startswith(".") for part in path.parts)


def read_regular(path: Path, limit: int) -> bytes:
    """Read a regular file of at most *limit* bytes; raises ``UnusableFile`` for anything else."""
    label = visible(path.name)
    with os.fdopen(open_regular(path), "rb") as stream:
        try:
            data = stream.read(limit + 1)
        except OSError as error:
            raise UnusableFile(unreadable(label, error)) from error
    return check_size(data, limit, label)


def open_regular(path: Path) -> int:
    """Open a regular file without following a link or waiting; returns its descriptor."""
    label = visible(path.name)
    try:
        # Opening a device can act on it, so check the kind first, and again once it is open.
        if not stat.S_ISREG(path.lstat().st_mode):
            raise UnusableFile(not_regular(label))
        descriptor = os.open(path, _OPEN_FLAGS)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnusableFile(not_regular(label)) from error
        raise UnusableFile(unreadable(label, error)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnusableFile(not_regular(label))
    return descriptor


def check_size(data: bytes, limit: int, label: str) -> bytes:
    """Return *data*; raises ``UnusableFile`` if it is longer than *limit*."""
    if len(data) > limit:
        msg = (
            f"{label} is larger than {limit // 1024:,} KiB and was not read. "
            "Submit the code without data or outputs."
        )
        raise UnusableFile(msg)
    return data


def not_regular(label: str) -> str:
    """Say that *label* is a link, a FIFO, a device, ..."""
    return f"{label} is a link or a special file and was not opened. Submit the file itself."


def unreadable(label: str, error: OSError) -> str:
    """Say why the system could not read *label*."""
    return f"{label} could not be read ({reason(error)}). Copy it again or submit it again."


def reason(error: OSError) -> str:
    """Return the system's text for *error*, or at least its type."""
    return error.strerror or type(error).__name__


def visible(name: str) -> str:
    """Return *name* on one line, with control, bidi and undecodable characters written out."""
    shown = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in name[: MAX_SHOWN + 1]
    )
    return shown if len(shown) <= MAX_SHOWN else shown[: MAX_SHOWN - 1] + "…"


def abbreviated_list(names: Sequence[str], limit: int = MAX_LISTED) -> tuple[str, ...]:
    """Return the first *limit* names, visible, and how many more there are."""
    shown = tuple(visible(name) for name in names[:limit])
    return shown if len(names) <= limit else (*shown, f"... and {len(names) - limit} more")
