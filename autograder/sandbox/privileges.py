"""Changes root to a user without privileges, and drops capabilities."""

import contextlib
import ctypes
import os
import struct
import sys
from typing import Final

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
