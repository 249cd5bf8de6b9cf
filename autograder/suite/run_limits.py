"""Limits the time and the memory of the course's own code, which runs in this process.

A wrong program that is made from a solution may not end, or may allocate without bound: it then
costs its own request. The processor time of this thread is limited, which does not depend on how
busy the machine is; a program that only waits is stopped by the clock, later. Meanwhile no garbage
is collected: that takes as long as this process is large.
"""

import contextlib
import gc
import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

from autograder.sandbox.isolation import mapped_bytes

if sys.platform != "win32":
    import resource

WAITING = 10  # times the processor time that a program may also spend without computing
AGAIN = 0.1  # seconds until it is stopped once more: a bare `except:` may have caught the first
MIB = 1 << 20


class OutOfTimeError(BaseException):
    """The code has used up its time; no ``except Exception`` of a solution catches it."""


class _Alarm:
    """Raises ``OutOfTimeError`` in the main thread when a timer rings while it is armed."""

    def __init__(self) -> None:
        self._armed = False
        self._ends = (0.0, 0.0)  # of this thread's processor time, and of the clock
        self._before: dict[signal.Signals, tuple[Any, tuple[float, float]]] = {}
        self._signals = (
            {signal.SIGPROF: signal.ITIMER_PROF, signal.SIGALRM: signal.ITIMER_REAL}
            if hasattr(signal, "setitimer")
            else {}
        )

    def arm(self, seconds: float) -> None:
        """Let the timers ring after *seconds* of processor time, or a multiple on the clock."""
        if threading.current_thread() is not threading.main_thread():
            return  # no signal can stop the code of another thread
        self._ends = time.thread_time() + seconds, time.monotonic() + WAITING * seconds
        self._armed = True
        for number, timer in self._signals.items():
            handler = signal.getsignal(number)
            self._before[number] = handler, signal.getitimer(timer)
            if handler != self._ring:
                signal.signal(number, self._ring)
            wait = seconds if timer == signal.ITIMER_PROF else WAITING * seconds
            signal.setitimer(timer, wait, AGAIN)

    def disarm(self) -> None:
        """Let nothing ring; a signal that is on its way raises nothing."""
        if self._armed:
            self._armed = False
            for number, timer in self._signals.items():
                handler, left = self._before[number]
                signal.setitimer(timer, 0)
                if callable(handler):  # by default, a late signal ends the process
                    signal.signal(number, handler)
                signal.setitimer(timer, *left)  # of a check, which goes on

    def _ring(self, _number: int, frame: FrameType | None) -> None:
        """Raise, unless another thread or the timer of a check rang: then it rings again."""
        is_over = time.thread_time() >= self._ends[0] or time.monotonic() >= self._ends[1]
        collects = frame is not None and frame.f_code.co_name == "gc_callback"  # torch's own
        if self._armed and is_over and not collects:  # an exception would be lost there
            raise OutOfTimeError


_alarm = _Alarm()


@contextlib.contextmanager
def limited(seconds: float, mib: int) -> Iterator[None]:
    """Raise ``OutOfTimeError`` in the block after *seconds*; refuse more than *mib* of memory.

    Memory that is refused raises ``MemoryError``, or a ``RuntimeError`` of torch.
    """
    with _limited_memory(mib * MIB), _no_garbage_collected():
        try:
            _alarm.arm(seconds)
            yield
        finally:
            _alarm.disarm()


@contextlib.contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """Collect no garbage in the block: the code would be charged for all of this process."""
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
