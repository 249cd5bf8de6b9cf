"""Interrupts code of this process after a limit of processor time or of clock time.

A check has such a limit, and each request of the course's own code that it makes has another. One
timer serves them all: it ticks, and each tick looks at the innermost alarm.
"""

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

TICK_SECONDS = 0.01  # on the clock; how late an alarm may ring
OUTSIDE = frozenset({"contextlib", __name__})  # modules that run around the block of an alarm

Interrupt = Callable[[FrameType | None], None]


class _Alarm:
    """An interrupt, and when it is due."""

    def __init__(self, interrupt: Interrupt, processor: float, clock: float, again: float) -> None:
        self._interrupt = interrupt
        self._again = again
        self._processor = time.thread_time() + processor
        self._clock = time.monotonic() + clock

    def look(self, frame: FrameType | None) -> None:
        """Interrupt *frame* if it is time; the next interrupt is due later."""
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
    """Call *interrupt* in the code of the block after *processor* seconds of this thread's time.

    Also after *clock* seconds on the clock, and then every *again* seconds. Its exception is raised
    where the code runs. An alarm around this one rings later. Only the main thread of a process on
    a Unix system has such a timer; elsewhere nothing rings.
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
    """Keep the timer on during a block with many alarms: to set it takes longer than most."""
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
        if callable(handler):  # by default, a late signal ends the process
            signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *left)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _tick(_number: int, frame: FrameType | None) -> None:
    """Look at the innermost alarm, unless its exception would be lost or arise outside its block.

    It is lost while torch collects garbage. Entering and leaving the block must be completed.
    """
    name = frame.f_globals.get("__name__") if frame is not None else None
    collects = frame is not None and frame.f_code.co_name == "gc_callback"
    if _alarms and not collects and name not in OUTSIDE:
        _alarms[-1].look(frame)
