"""Limits the time and the memory of the course's own code, which runs in this process.

A wrong program that is made from a solution may not end, or may allocate without bound: it then
costs its own request. The processor time of this thread is limited, which does not depend on how
busy the machine is; a program that only waits is stopped by the clock, later. Meanwhile no garbage
is collected: that takes as long as this process is large.
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

WAITING = 10  # times the processor time that a program may also spend without computing
AGAIN = 0.1  # seconds until it is stopped once more: a bare `except:` may have caught the first


class OutOfTimeError(BaseException):
    """The code has used up its time; no ``except Exception`` of a solution catches it."""


@contextlib.contextmanager
def limited(seconds: float, mib: int) -> Iterator[None]:
    """Raise ``OutOfTimeError`` in the block after *seconds*; refuse more than *mib* of memory.

    Memory that is refused raises ``MemoryError``, or a ``RuntimeError`` of torch.
    """
    rings = alarm(_stop, processor=seconds, clock=WAITING * seconds, again=AGAIN)
    with _limited_memory(mib * MIB), _no_garbage_collected(), rings:
        yield


def _stop(_frame: FrameType | None) -> None:
    raise OutOfTimeError


@contextlib.contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """Collect no garbage in the block: the code would be charged for that of all this process."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def _limited_memory(size: int) -> Iterator[None]:
    """Let this process map *size* bytes more than it has; only Linux can say how many."""
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
    """Return how many MiB more this process may map; only Linux can say how many it has."""
    if sys.platform != "linux":
        return math.inf
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if most == resource.RLIM_INFINITY else (most - mapped_bytes()) / MIB
