"""Creates, mounts and removes a worker's private folder.

It is a file system in memory, limited in bytes and in files. The limits also hold for deep folders
and for files that are deleted but still open, and nothing is left when the worker ends. It needs
root, or a kernel that lets every user create a namespace.
"""

import contextlib
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Final

from autograder.disk import PRIVATE
from autograder.sandbox import syscalls
from autograder.sandbox.privileges import unprivileged_owner

_NEW_MOUNTS, _NEW_USER = 0x20000, 0x10000000
_NO_SETUID, _NO_DEVICES, _NO_PROGRAMS, _RECURSIVE, _PRIVATE = 2, 4, 8, 1 << 14, 1 << 18
_FLAGS: Final = _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS


def mount(folder: str, size: int, files: int, owner: int | None = None) -> None:
    """Mount a file system of *size* bytes and *files* files at *folder*, for this process only.

    It belongs to *owner*, by default to this process's user. Raises ``OSError`` if the system
    allows no namespace.
    """
    try:
        syscalls.unshare(_NEW_MOUNTS)
    except PermissionError:
        _become_user_of_namespace()
    syscalls.mount("none", "/", "", _RECURSIVE | _PRIVATE)  # else others would see the next one
    options = f"size={size},nr_inodes={files + 1},mode=700"  # the folder itself counts as one
    if owner is not None:
        options += f",uid={owner},gid={owner}"
    syscalls.mount("none", folder, "tmpfs", _FLAGS, options)


@functools.cache  # an attempt may lose this process's user
def is_available() -> bool:
    """Whether ``mount`` works here, as tried in a separate process."""
    if sys.platform != "linux":
        return False
    with warnings.catch_warnings():
        # Python 3.12 warns if there are threads, but the child makes only system calls.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            mount(str(Path(__file__).parent), 1 << 20, 1)  # any folder: nobody else sees it
            os._exit(0)
        os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def _become_user_of_namespace() -> None:
    """Enter a user namespace, in which this process may mount, and keep its user and group."""
    user, group = os.geteuid(), os.getegid()
    syscalls.unshare(_NEW_MOUNTS | _NEW_USER)
    for name, text in (
        ("setgroups", "deny"),  # the kernel requires this before it maps a group
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        Path("/proc/self", name).write_text(text, "ascii")


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
