"""Writes files and folders completely, or leaves the previous ones unchanged."""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile, gettempdir, mkdtemp
from typing import TypeVar

if sys.platform != "win32":
    import fcntl

UNFINISHED = ".unfinished-"  # prefix of the files that an interrupted run may leave behind
OWNED = "autograder-private-"  # prefix of the temporary folders of a run
PRIVATE = "submission-"  # prefix of everything in these folders
PAUSES = (0.05, 0.1, 0.2, 0.3)  # seconds; a virus scanner or a sync program holds a file as long
PROBE = 2**20  # bytes, enough for the record of a class or about ten notebooks

_Result = TypeVar("_Result")


def retrying(action: Callable[[], _Result]) -> _Result:
    """Return the result of *action*; try again within a second if another program holds a file."""
    for pause in PAUSES:
        try:
            return action()
        except PermissionError:
            time.sleep(pause)
    return action()


def quoted(path: Path) -> str:
    """Return *path* as one word of a command that the reader can paste."""
    return subprocess.list2cmdline([path]) if os.name == "nt" else shlex.quote(str(path))


def replace_file(file: Path, content: bytes) -> None:
    """Write *file* so that an interrupted run leaves either the old file or the new one."""
    with replacing_file(file) as draft:
        draft.write_bytes(content)


@contextmanager
def replacing_file(file: Path) -> Iterator[Path]:
    """Yield the path of a draft, which replaces *file* at the end unless an exception occurs."""
    place = TemporaryDirectory(dir=file.parent, prefix=UNFINISHED, ignore_cleanup_errors=True)
    with place as folder:
        draft = Path(folder) / file.name
        yield draft
        retrying(lambda: draft.replace(file))


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder, which replaces *folder* at the end unless an exception occurs."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    place = TemporaryDirectory(dir=folder.parent, prefix=UNFINISHED, ignore_cleanup_errors=True)
    with place as temporary:
        new, old = Path(temporary) / "new", Path(temporary) / "old"
        new.mkdir()
        yield new
        if folder.exists():
            retrying(lambda: folder.replace(old))
        try:
            retrying(lambda: new.replace(folder))
        except OSError:
            if old.exists():
                old.replace(folder)
            raise


class OwnedFolder:
    """Creates a temporary folder for this process and its forks, and removes it on ``close``.

    *remove* deletes a folder with all its contents. The folder is locked, and the kernel unlocks it
    when the last of these processes ends, even if it is killed. Therefore the constructor can also
    remove this user's folders whose processes have ended. Other users may open files in the folder,
    but not list it.
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
        new.rename(self.path)  # visible to other processes only when it is locked

    def close(self) -> None:
        """Remove the folder."""
        self._remove(self.path)
        os.close(self._descriptor)


def _remove_unlocked(folder: Path, remove: Callable[[Path], None]) -> None:
    """Remove *folder* if it belongs to this user and no process holds its lock."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # another run has removed it, or it belongs to another user
        return
    try:
        is_ours = os.fstat(descriptor).st_uid == os.geteuid() and all(
            name.startswith(PRIVATE)
            for name in os.listdir(descriptor)  # noqa: PTH208  # the open folder, not its path
        )
        if is_ours and _lock_folder(descriptor):
            remove(folder)
    finally:
        os.close(descriptor)


def _lock_folder(descriptor: int) -> bool:
    """Lock an open folder for this process and its forks; return False if others hold the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # or the file system has no locks, so that nothing is removed
        return False
    return True


def lock(descriptor: int) -> bool:
    """Lock an open file until this process ends, without its forks; return False if it is held."""
    if sys.platform == "win32":  # Windows does not grade
        return True
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # depending on the system
        return False
    except OSError:  # some network folders have no locks
        return True
    return True


def require_space(folder: Path) -> None:
    """Create *folder* if necessary, and raise ``OSError`` if no file can be written into it."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=folder) as probe:
        probe.write(bytes(PROBE))
