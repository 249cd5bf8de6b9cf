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
import tempfile
from pathlib import Path
from typing import Final

from autograder.disk import PRIVATE
from autograder.sandbox import namespaces, syscalls
from autograder.sandbox.privileges import unprivileged_owner

_NO_SETUID, _NO_DEVICES, _NO_PROGRAMS = 2, 4, 8
_FLAGS: Final = _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS


def mount(folder: str, size: int, files: int, owner: int | None = None) -> None:
    """Mount a file system of *size* bytes and *files* files at *folder*, for this process only.

    It belongs to *owner*, by default to this process's user. Raises ``OSError`` if the system
    allows no namespace.
    """
    namespaces.enter_mounts()
    options = f"size={size},nr_inodes={files + 1},mode=700"  # the folder itself counts as one
    if owner is not None:
        options += f",uid={owner},gid={owner}"
    syscalls.mount("none", folder, "tmpfs", _FLAGS, options)


@functools.cache
def is_available() -> bool:
    """Whether ``mount`` works here, as tried in a separate process."""
    # any folder: nobody else sees it
    return namespaces.works(lambda: mount(str(Path(__file__).parent), 1 << 20, 1))


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
