"""Limits the time and the memory of the course's own code, which runs in this process.

A wrong program may never end, or may allocate memory without a limit; then only its own request
fails. The limit applies to the processor time of this thread, which does not depend on the load of
the machine. A program that only waits is stopped later, by the clock. Garbage collection is off
meanwhile, because it takes longer the larger this process is.
"""

import contextlib
import gc
import math
import sys
from collections.abc import Iterator
from types import FrameType

from autograder.sandbox.process_limits import MIB, mapped_bytes
from autograder.suite.alarm import alarm

if sys.platform != "win32":
    import resource

WAITING = 10  # limit of clock time, as a multiple of the limit of processor time
AGAIN = 0.1  # seconds between two attempts to stop it: a bare `except:` may catch the first


class OutOfTimeError(BaseException):
    """Raised when code has used up its time; ``except Exception`` does not catch it."""


@contextlib.contextmanager
def limited(seconds: float, mib: int) -> Iterator[None]:
    """Raise ``OutOfTimeError`` in the block after *seconds*; refuse more than *mib* MiB of memory.

    A refused allocation raises ``MemoryError``, or a ``RuntimeError`` of torch.
    """
    rings = alarm(_stop, processor=seconds, clock=WAITING * seconds, again=AGAIN)
    with _limited_memory(mib * MIB), _no_garbage_collected(), rings:
        yield


def _stop(_frame: FrameType | None) -> None:
    raise OutOfTimeError


@contextlib.contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """Collect no garbage in the block, because it would count against the time of the code."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def _limited_memory(size: int) -> Iterator[None]:
    """Limit the additional memory of this process to *size* bytes in the block, on Linux only."""
    if sys.platform != "linux":
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    bounds = [bound for bound in (before, hard) if bound != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([mapped_bytes() + size, *bounds]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))


def room_for_memory() -> float:
    """Return how many more MiB this process may map; infinite if the system does not report it."""
    if sys.platform != "linux":
        return math.inf
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if most == resource.RLIM_INFINITY else (most - mapped_bytes()) / MIB
