"""Interrupts code of this process after a limit of processor time or of clock time.

A check has such a limit, and each request of the course's own code that it makes has another.
"""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

Interrupt = Callable[[FrameType | None], None]


@contextlib.contextmanager
def alarm(
    interrupt: Interrupt, *, processor: float, again: float, clock: float | None = None
) -> Iterator[None]:
    """Call *interrupt* in the code of the block after *processor* seconds of this thread's time.

    Also after *clock* seconds on the clock, and then every *again* seconds. Its exception is raised
    where the code runs. An alarm around this one rings later. Only the main thread of a process on
    a Unix system has such timers; elsewhere nothing rings.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "setitimer"):
        yield
        return
    timers = _Timers(interrupt)
    try:
        timers.start(signal.SIGPROF, signal.ITIMER_PROF, processor, again)
        if clock is not None:
            timers.start(signal.SIGALRM, signal.ITIMER_REAL, clock, again)
        yield
    finally:
        timers.stop()


class _Timers:
    """Timers that call *interrupt*, and what was set before them."""

    def __init__(self, interrupt: Interrupt) -> None:
        self._interrupt = interrupt
        self._rings = True
        self._ends: dict[int, float] = {}  # by signal: when it may ring for the first time
        self._before: list[tuple[int, Any, int, tuple[float, float]]] = []

    def start(self, number: int, timer: int, seconds: float, again: float) -> None:
        """Let *timer*, which sends the signal *number*, ring after *seconds*."""
        before = signal.getsignal(number)
        self._before.append((number, before, timer, signal.getitimer(timer)))
        signal.setitimer(timer, 0)  # or the alarm around this one could ring here
        self._ends[number] = _now(number) + seconds
        signal.signal(number, self._ring)
        signal.setitimer(timer, seconds, again)

    def stop(self) -> None:
        """Set everything back; a signal that is on its way raises nothing."""
        self._rings = False
        for number, handler, timer, left in self._before:
            signal.setitimer(timer, 0)
            if callable(handler):  # by default, a late signal ends the process
                signal.signal(number, handler)
            signal.setitimer(timer, *left)  # of the alarm around this one

    def _ring(self, number: int, frame: FrameType | None) -> None:
        """Interrupt, unless the time was that of other threads, or a late signal is another's."""
        is_over = _now(number) >= self._ends.get(number, 0.0)
        collects = frame is not None and frame.f_code.co_name == "gc_callback"  # torch's own
        if (
            self._rings and is_over and not collects
        ):  # an exception would be lost there; it rings again
            self._interrupt(frame)


def _now(number: int) -> float:
    """Return the time that a signal's timer measures: of this thread alone, or on the clock."""
    return time.thread_time() if number == signal.SIGPROF else time.monotonic()
