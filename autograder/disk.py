"""Writes files and folders completely, or leaves the existing ones unchanged."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile, gettempdir, mkdtemp

if sys.platform != "win32":
    import fcntl

UNFINISHED = ".unfinished-"  # begins the names of what an interrupted run may leave
OWNED = "autograder-private-"  # begins the names of the temporary folders of a run
PRIVATE = "submission-"  # begins the names of all that they hold
PROBE = 2**20  # bytes; the record of a class, or about ten notebooks


def replace_file(file: Path, content: bytes) -> None:
    """Write *file* at once, so that an interrupted run leaves the old file or the new one."""
    with replacing_file(file) as draft:
        draft.write_bytes(content)


@contextmanager
def replacing_file(file: Path) -> Iterator[Path]:
    """Yield the path of a draft that replaces *file* at the end, unless there is an exception."""
    with TemporaryDirectory(dir=file.parent, prefix=UNFINISHED) as folder:
        draft = Path(folder) / file.name
        yield draft
        draft.replace(file)


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces *folder* at the end; an exception leaves the old one."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=UNFINISHED) as temporary:
        new = Path(temporary) / "new"
        new.mkdir()
        yield new
        if folder.exists():
            os.replace(folder, Path(temporary) / "old")  # noqa: PTH105  # both arguments are folders
        os.replace(new, folder)  # noqa: PTH105  # both arguments are folders


class OwnedFolder:
    """A temporary folder of this process and its forks; *remove* removes it with all its contents.

    The kernel unlocks it with the last of these processes, for any end of them, so making one
    removes the folders of this user whose processes are gone. Others may pass through it, but not
    list it.
    """

    def __init__(self, remove: Callable[[Path], None]) -> None:
        self._remove = remove
        for abandoned in Path(gettempdir()).glob(f"{OWNED}*"):
            _remove_unlocked(abandoned, remove)
        new = Path(mkdtemp(prefix=f".{OWNED}"))
        self.path = new.with_name(new.name.removeprefix("."))
        self._descriptor = os.open(new, os.O_RDONLY)
        _lock_folder(self._descriptor)
        new.chmod(0o711)
        new.rename(self.path)  # only now may another process find it, locked

    def close(self) -> None:
        """Remove the folder."""
        self._remove(self.path)
        os.close(self._descriptor)


def _remove_unlocked(folder: Path, remove: Callable[[Path], None]) -> None:
    """Remove *folder* if it is this user's, and no process holds its lock."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # another run has just removed it, or it is another user's
        return
    try:
        is_ours = os.fstat(descriptor).st_uid == os.geteuid() and all(
            name.startswith(PRIVATE)
            for name in os.listdir(descriptor)  # noqa: PTH208  # the folder that is open, not its name
        )
        if is_ours and _lock_folder(descriptor):
            remove(folder)
    finally:
        os.close(descriptor)


def _lock_folder(descriptor: int) -> bool:
    """Lock an open folder for this process and its forks; False if others have locked it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # or the file system knows no locks: then nothing there is removed
        return False
    return True


def lock(descriptor: int) -> bool:
    """Lock an open file until this process ends; False if another process has locked it.

    Forks do not inherit the lock, so none of them keeps it after this process.
    """
    if sys.platform == "win32":  # nothing is graded there
        return True
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # systems differ in what they raise
        return False
    except OSError:  # some network folders know no locks
        return True
    return True


def require_space(folder: Path) -> None:
    """Raise ``OSError`` if no file can be written into *folder*, which is created if necessary."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=folder) as probe:
        probe.write(bytes(PROBE))
