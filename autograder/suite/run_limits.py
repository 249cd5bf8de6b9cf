"""Limits the time and the memory of the course's own code, which runs in this process.

A wrong program that is made from a solution may not end, or may allocate without bound: it then
costs its own request. Processor time is limited, which does not depend on how busy the machine is;
a program that only waits is stopped by the clock, later.
"""

import contextlib
import math
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from autograder.sandbox.process_limits import MIB, mapped_bytes

if sys.platform != "win32":
    import resource

WAITING = 10  # times the processor time that a program may also spend without computing
AGAIN = 0.1  # seconds until it is stopped once more: a bare `except:` may have caught the first


class OutOfTimeError(BaseException):
    """The code has used up its time; no ``except Exception`` of a solution catches it."""


class _Alarm:
    """Raises ``OutOfTimeError`` in the main thread when a timer rings while it is armed."""

    def __init__(self) -> None:
        self._armed = False
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
        collects = frame is not None and frame.f_code.co_name == "gc_callback"  # torch's own
        if self._armed and not collects:  # an exception would be lost there; it rings again
            raise OutOfTimeError


_alarm = _Alarm()


@contextlib.contextmanager
def limited(seconds: float, mib: int) -> Iterator[None]:
    """Raise ``OutOfTimeError`` in the block after *seconds*; refuse more than *mib* of memory.

    Memory that is refused raises ``MemoryError``, or a ``RuntimeError`` of torch.
    """
    with _limited_memory(mib * MIB):
        try:
            _alarm.arm(seconds)
            yield
        finally:
            _alarm.disarm()


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
