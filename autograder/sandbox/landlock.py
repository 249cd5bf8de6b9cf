"""Restricts which files a process may open, with Landlock (``man 7 landlock``).

After ``restrict``, neither the process nor a program that it executes can regain a right. Landlock
does not cover chmod, utime, xattr, flock and changes to another process: ``seccomp`` forbids those.
"""

import contextlib
import ctypes
import os
import stat
import struct
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from autograder.errors import SandboxError
from autograder.sandbox import syscalls

# Rights on files and folders, by the ABI that introduced them (linux/landlock.h).
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = (1 << n for n in range(6))
_MAKE_CHAR, _MAKE_DIR, _MAKE_REG, _MAKE_SOCK = (1 << n for n in range(6, 10))
_MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM = (1 << n for n in range(10, 13))
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_SINCE: Final = ((1, (1 << 13) - 1), (2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV))

_READ: Final = _READ_FILE | _READ_DIR  # not _EXECUTE: mapping an extension module doesn't need it
_KEEP: Final = _MAKE_DIR | _MAKE_REG | _REMOVE_DIR | _REMOVE_FILE | _REFER
_LIST: Final = _READ_DIR
_WRITE: Final = _READ | _WRITE_FILE | _TRUNCATE | _KEEP  # no links, devices, sockets, pipes
_ON_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

_NETWORK: Final = 0b11  # TCP bind and connect, since ABI 4
_SCOPES: Final = 0b11  # abstract unix sockets and signals, since ABI 6
_NETWORK_SINCE, _SCOPES_SINCE, _QUIET_SINCE = 4, 6, 7

_ASK_VERSION: Final = 1
_PATH_BENEATH: Final = 1
_LOG_OFF: Final = 1  # otherwise a submission could fill the audit log with refusals


def abi_version() -> int:
    """Return the kernel's Landlock version; 0 if there is none."""
    if sys.platform != "linux":
        return 0
    try:
        return syscalls.call(syscalls.LANDLOCK_CREATE_RULESET, 0, 0, _ASK_VERSION)
    except OSError:  # too old, switched off at boot, or refused by a container
        return 0


def restrict(
    readable: Iterable[Path], writable: Iterable[Path], listed: Iterable[Path] = ()
) -> None:
    """Restrict this thread to reading below *readable* and writing, too, below *writable*.

    Below *listed*, it may read the names of files but no files. A readable path that doesn't exist
    is skipped. The restriction also holds for threads that this thread starts later. It needs
    no_new_privs. Raises ``SandboxError`` if there is no Landlock, ``OSError`` if a call fails.
    """
    abi = abi_version()
    if not abi:
        raise SandboxError("This kernel has no Landlock: use Linux 5.13 or newer.")
    ruleset = _create(abi)
    try:
        for path in readable:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                _grant(ruleset, path, _READ)
        for path in listed:
            _grant(ruleset, path, _LIST)
        for path in writable:
            _grant(ruleset, path, _WRITE & handled_rights(abi))
        flags = _LOG_OFF if abi >= _QUIET_SINCE else 0
        syscalls.call(syscalls.LANDLOCK_RESTRICT_SELF, ruleset, flags)
    finally:
        os.close(ruleset)


def handled_rights(abi: int) -> int:
    """Return every file right that a kernel of version *abi* can withhold."""
    return sum(rights for since, rights in _SINCE if abi >= since)


def _create(abi: int) -> int:
    network = _NETWORK if abi >= _NETWORK_SINCE else 0
    scopes = _SCOPES if abi >= _SCOPES_SINCE else 0
    # An older kernel accepts the longer structure if the fields that it doesn't know are zero.
    packed = struct.pack("=QQQ", handled_rights(abi), network, scopes)
    attributes = ctypes.create_string_buffer(packed, len(packed))
    address = ctypes.addressof(attributes)
    return syscalls.call(syscalls.LANDLOCK_CREATE_RULESET, address, len(attributes), 0)


def _grant(ruleset: int, path: Path, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _ON_FILES  # the kernel refuses a folder's rights on a file
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor), 12)
        address = ctypes.addressof(rule)
        syscalls.call(syscalls.LANDLOCK_ADD_RULE, ruleset, _PATH_BENEATH, address, 0)
    finally:
        os.close(descriptor)
