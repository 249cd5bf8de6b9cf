"""Interrupts code of this process after a limit of processor time or of clock time.

A check has such a limit, and so has each request that it sends to the course's own code. One timer
serves all limits: each of its ticks examines the innermost alarm.
"""

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

TICK_SECONDS = 0.01  # of clock time; an alarm may be late by as much
OUTSIDE = frozenset({"contextlib", __name__})  # these enter and leave a block

Interrupt = Callable[[FrameType | None], None]


class _Alarm:
    """An interrupt, and when it is due."""

    def __init__(self, interrupt: Interrupt, processor: float, clock: float, again: float) -> None:
        self._interrupt = interrupt
        self._again = again
        self._processor = time.thread_time() + processor
        self._clock = time.monotonic() + clock

    def look(self, frame: FrameType | None) -> None:
        """Interrupt *frame* if the alarm is due, and set the time of the next interrupt."""
        used, now = time.thread_time(), time.monotonic()
        if used < self._processor and now < self._clock:
            return
        self._processor, self._clock = used + self._again, now + self._again
        self._interrupt(frame)


_alarms: list[_Alarm] = []  # of the main thread, the innermost last
_is_ticking = False


@contextlib.contextmanager
def alarm(
    interrupt: Interrupt, *, processor: float, again: float, clock: float = math.inf
) -> Iterator[None]:
    """Call *interrupt* in the block after *processor* seconds of the thread's processor time.

    *interrupt* is also called after *clock* seconds of clock time, and then every *again* seconds.
    Its exception is raised in the running code. An alarm around this one must wait for the end of
    the block. The timer exists only in the main thread on Unix; elsewhere, *interrupt* is never
    called.
    """
    with contextlib.nullcontext() if _is_ticking else ticking():
        if not (_is_ticking and _in_main_thread()):
            yield
            return
        _alarms.append(_Alarm(interrupt, processor, clock, again))
        try:
            yield
        finally:
            _alarms.pop()


@contextlib.contextmanager
def ticking() -> Iterator[None]:
    """Keep the timer running during a block with many short alarms, because setting it is slow."""
    global _is_ticking  # noqa: PLW0603  # a process has one such timer
    if _is_ticking or not (_in_main_thread() and hasattr(signal, "setitimer")):
        yield
        return
    handler = signal.signal(signal.SIGALRM, _tick)
    left = signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS, TICK_SECONDS)
    _is_ticking = True
    try:
        yield
    finally:
        _is_ticking = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        if callable(handler):  # the default action of a late signal would end the process
            signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *left)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _tick(_number: int, frame: FrameType | None) -> None:
    """Examine the innermost alarm, unless its exception would be lost or raised outside its block.

    An exception is lost in torch's callback of the garbage collector. It would be raised outside
    the block while the block is entered or left.
    """
    name = frame.f_globals.get("__name__") if frame is not None else None
    collects = frame is not None and frame.f_code.co_name == "gc_callback"
    if _alarms and not collects and name not in OUTSIDE:
        _alarms[-1].look(frame)
