"""Drops root's privileges, and gives a worker its own folder, process numbers and access times.

Process numbers and access times could carry a number from one worker to a later one: threads
advance the kernel's counter, and reading a file sets its access time, even below a folder that is
read-only. The folder is a file system in memory, limited in bytes and in files. The limits also
hold for deep folders and for files that are deleted but still open, and nothing is left when the
worker ends. It needs root, or a kernel that lets every user create a namespace.
"""

import contextlib
import ctypes
import functools
import os
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal

from autograder.disk import PRIVATE
from autograder.sandbox import syscalls

NOBODY: Final = 65534  # the user "nobody" owns no file; rootless containers map it too
_PR_SET_KEEPCAPS, _PR_CAPBSET_DROP, _PR_CAP_AMBIENT, _CLEAR_ALL = 8, 24, 47, 4
_CAP_DAC_READ_SEARCH, _LAST_CAPABILITY = 2, 63
_CAPABILITY_VERSION: Final = 0x20080522  # two words for each of the three sets


def unprivileged_owner() -> int | None:
    """Return the user and group that a worker changes to; ``None`` if it keeps its own."""
    return NOBODY if sys.platform == "linux" and is_root() else None


def is_root() -> bool:
    """Whether this process has root's privileges."""
    return sys.platform != "win32" and os.geteuid() == 0


def drop_privileges() -> None:
    """Drop root's user, groups and capabilities, except one capability.

    That capability opens folders for the next steps, and ``confine`` drops it before student code
    runs. Root itself could raise its limits again.
    """
    kept = 0
    if is_root():
        kept = 1 << _CAP_DAC_READ_SEARCH
        syscalls.prctl(_PR_SET_KEEPCAPS, 1)
        with contextlib.suppress(OSError):  # the kernel may have fewer capabilities
            for capability in range(_LAST_CAPABILITY + 1):
                syscalls.prctl(_PR_CAPBSET_DROP, capability)
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        syscalls.prctl(_PR_SET_KEEPCAPS, 0)
    syscalls.prctl(_PR_CAP_AMBIENT, _CLEAR_ALL)
    set_capabilities(kept)


def set_capabilities(kept: int) -> None:
    """Keep only the capabilities whose bits are set in *kept*."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION, 0))
    sets = ctypes.create_string_buffer(struct.pack("=6I", kept, kept, 0, 0, 0, 0))
    if ctypes.CDLL(None, use_errno=True).capset(header, sets):
        raise OSError(ctypes.get_errno(), "capabilities could not be dropped")


NEW_MOUNTS, NEW_USER, NEW_PROCESSES = 0x20000, 0x10000000, 0x20000000
_RECURSIVE, _PRIVATE, _SAFE = 1 << 14, 1 << 18, 2 | 4 | 8  # MS_NOSUID, MS_NODEV, MS_NOEXEC
_MOUNT_SETATTR: Final = 442  # on both architectures, since Linux 5.12
_HERE, _AT_RECURSIVE = -100, 0x8000
_NO_TIMES, _ALL_TIMES = 0x10 | 0x80, 0x70  # MOUNT_ATTR_NOATIME and NODIRATIME; MOUNT_ATTR__ATIME
_PR_SET_CHILD_SUBREAPER: Final = 36
# Linux updates an access time that is older than a day. Half of it is left for a run.
FRESH_SECONDS: Final = 12 * 3600

Times = Literal["unchanged", "set before", "shared"]


def enter_mounts() -> None:
    """Enter a mount namespace in which reading leaves no trace, or raise ``OSError``."""
    try:
        syscalls.unshare(NEW_MOUNTS)
    except PermissionError:
        become_user_of_namespace(NEW_MOUNTS)
    syscalls.mount("none", "/", "", _RECURSIVE | _PRIVATE)  # else others would see the next ones
    with contextlib.suppress(OSError):  # only root may do this; see `read_before`
        _stop_access_times()
    if os.getpid() == 1:  # `fork_apart` made this process
        syscalls.mount("proc", "/proc", "proc", _SAFE)  # the old one shows numbers of the machine


def become_user_of_namespace(others: int) -> None:
    """Enter a user namespace, and the *others* in it, and keep this process's user and group."""
    user, group = os.geteuid(), os.getegid()
    syscalls.unshare(others | NEW_USER)
    for name, text in (
        ("setgroups", "deny"),  # the kernel requires this before it maps a group
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        Path("/proc/self", name).write_bytes(text.encode())


def fork_apart() -> int:
    """Fork as ``os.fork`` does, but into a new PID namespace if the system has them."""
    if not has_process_numbers():
        return os.fork()
    return _fork_as_root() if is_root() else _fork_twice()


def parent_of_fork(parent: int) -> int:
    """Return what ``os.getppid`` gives in a child of *parent*: 0 in a new PID namespace."""
    return 0 if os.getpid() == 1 else parent


@functools.cache
def has_process_numbers() -> bool:
    """Whether ``fork_apart`` makes a new PID namespace here."""

    def attempt() -> None:
        fork = _fork_as_root if is_root() else _fork_twice
        if pid := fork():
            os._exit(os.waitpid(pid, 0)[1] != 0)
        enter_mounts()

    return works(attempt)


@functools.cache
def access_times() -> Times:
    """Return how traces in access times are prevented; ``shared`` if they are not."""

    def attempt() -> None:
        enter_mounts()
        _stop_access_times()

    if works(attempt):
        return "unchanged"
    return "set before" if sys.platform == "linux" else "shared"


@functools.cache  # once for all workers of this process
def read_before(roots: tuple[str, ...]) -> None:
    """Read all below *roots* that a worker may read, if its own reading would leave a trace.

    Afterwards the kernel updates an access time only if a day has passed (``relatime``).
    """
    if access_times() != "set before":
        return
    tops = dict.fromkeys(map(os.path.realpath, roots))
    for top in tops:
        if not any(str(parent) in tops for parent in Path(top).parents):
            for path in _entries(top):
                with contextlib.suppress(OSError):
                    _read(path)


def _entries(top: str) -> Iterator[str]:
    if os.statvfs(top).f_flag & os.ST_NOATIME:
        return
    yield top
    for folder, folders, files in os.walk(top):
        yield from (f"{folder}/{name}" for name in (*folders, *files))


def _read(path: str) -> None:
    found = os.lstat(path)
    if found.st_atime > max(found.st_mtime, found.st_ctime, time.time() - FRESH_SECONDS):
        return
    if stat.S_ISLNK(found.st_mode):
        os.readlink(path)  # noqa: PTH115  # only the access matters
    elif stat.S_ISDIR(found.st_mode):
        os.listdir(path)  # noqa: PTH208  # only the access matters
    elif stat.S_ISREG(found.st_mode):
        file = os.open(path, os.O_RDONLY)
        try:
            os.read(file, 1)
        finally:
            os.close(file)


def _stop_access_times() -> None:
    attributes = ctypes.create_string_buffer(struct.pack("=QQQQ", _NO_TIMES, _ALL_TIMES, 0, 0), 32)
    path = ctypes.create_string_buffer(b"/")
    addresses = ctypes.addressof(path), ctypes.addressof(attributes)
    syscalls.call(_MOUNT_SETATTR, _HERE, addresses[0], _AT_RECURSIVE, addresses[1], 32)


def _fork_as_root() -> int:
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    syscalls.unshare(NEW_PROCESSES)
    pid = -1
    try:
        pid = os.fork()
    finally:
        if pid:
            syscalls.enter_namespace(own, NEW_PROCESSES)
        os.close(own)
    return pid


def _fork_twice() -> int:
    """Fork through a process that enters the namespaces, as only root can leave them again."""
    syscalls.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    number, to_number = os.pipe()
    start, to_start = os.pipe()
    between = os.fork()
    if between:
        os.close(to_number)
        os.close(start)
        os.waitpid(between, 0)
        pid = os.read(number, 20)
        os.close(number)
        os.close(to_start)
        if not pid:
            raise OSError("no process could be started in a new PID namespace")
        return int(pid)
    try:
        os.close(to_start)
        become_user_of_namespace(NEW_PROCESSES)
        if pid_inside := os.fork():
            os.write(to_number, b"%d" % pid_inside)
            os._exit(0)
        os.read(start, 1)  # ends when the first fork is gone and the parent will not change again
        for descriptor in (number, to_number, start):
            os.close(descriptor)
    except BaseException:  # noqa: BLE001  # a child never returns into its parent's code
        os._exit(70)
    return 0


def works(attempt: Callable[[], None]) -> bool:
    """Whether *attempt* succeeds in a separate process, because it may lose this one's user."""
    if sys.platform != "linux":
        return False
    with warnings.catch_warnings():
        # Python 3.12 warns if there are threads, but the child makes only system calls.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            attempt()
            os._exit(0)
        os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


_NO_SETUID, _NO_DEVICES, _NO_PROGRAMS = 2, 4, 8
_FLAGS: Final = _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS


def mount_private_folder(folder: str, size: int, files: int, owner: int | None = None) -> None:
    """Mount a file system of *size* bytes and *files* files at *folder*, for this process only.

    It belongs to *owner*, by default to this process's user. Raises ``OSError`` if the system
    allows no namespace.
    """
    enter_mounts()
    options = f"size={size},nr_inodes={files + 1},mode=700"  # the folder itself counts as one
    if owner is not None:
        options += f",uid={owner},gid={owner}"
    syscalls.mount("none", folder, "tmpfs", _FLAGS, options)


@functools.cache
def has_private_folders() -> bool:
    """Whether ``mount_private_folder`` works here, as tried in a separate process."""
    # any folder: nobody else sees it
    return works(lambda: mount_private_folder(str(Path(__file__).parent), 1 << 20, 1))


def make_private_folder(parent: Path) -> Path:
    """Create an empty folder that only the worker's user may enter."""
    folder = Path(tempfile.mkdtemp(prefix=PRIVATE, dir=parent))
    owner = unprivileged_owner()
    if owner is not None:
        os.chown(folder, owner, owner)
    return folder


def remove_folder(folder: Path) -> None:
    """Remove a private folder, even one that is too deep to recurse into or has no permissions."""
    with contextlib.suppress(RecursionError):  # before Python 3.13, rmtree calls itself
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            subprocess.run([*command, str(folder)], check=False, stderr=subprocess.DEVNULL)  # noqa: S603  # a fixed command on the kit's folder
