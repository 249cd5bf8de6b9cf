"""Limits the memory, the processor time and the lifetime of this process."""

import contextlib
import ctypes
import gc
import math
import os
import signal
import sys
import time
from typing import Final

from autograder.sandbox import syscalls

if sys.platform != "win32":
    import resource

MIB = 1 << 20
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_LARGE_BLOCK: Final = 128 << 10  # glibc's first threshold
_PR_SET_PDEATHSIG: Final = 1
_STATM: Final = "/proc/self/statm"
_PAGE: Final = os.sysconf("SC_PAGESIZE") if sys.platform == "linux" else 0


def limit_memory(size: int) -> None:
    """Let this process map at most *size* more bytes than now; does nothing outside Linux."""
    if sys.platform == "linux":
        set_limit(resource.RLIMIT_AS, mapped_bytes() + size)


def limit_processor_time(seconds: float) -> None:
    """Let the system end this process after *seconds* more of processor time."""
    if sys.platform != "win32":
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        most = math.ceil(time.process_time() + seconds)
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def set_limit(limit: int, value: int) -> None:
    """Set soft and hard limit to *value*, or to the present hard limit if that is lower."""
    if sys.platform != "win32":
        hard = resource.getrlimit(limit)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (value, value))


def return_freed_memory() -> None:
    """Make the C library give large blocks back to the system as soon as they are freed."""
    _mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)  # otherwise the threshold grows with each block


def collect_memory() -> None:
    """Free the memory of objects that refer to each other, and give it back to the system."""
    gc.collect()
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # musl has no such function
            ctypes.CDLL(None).malloc_trim(0)


def share_arenas() -> None:
    """Let all threads use one arena, because glibc reserves 64 MiB of addresses for each arena."""
    _mallopt(_M_ARENA_MAX, 1)


def _mallopt(option: int, value: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # musl has no such function
            ctypes.CDLL(None).mallopt(option, value)


def mapped_bytes() -> int:
    """Return how much memory this process has mapped; Linux only."""
    file = os.open(_STATM, os.O_RDONLY)  # faster than a file object, because it is read often
    try:
        return int(os.read(file, 100).split()[0]) * _PAGE
    finally:
        os.close(file)


def end_with_parent(parent: int) -> None:
    """End this process when *parent* ends, or now if *parent* has already ended.

    Linux ends it together with the thread of *parent* that started it.
    """
    if sys.platform == "linux":
        syscalls.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent ended before the line above
        os._exit(1)
