"""Interrupts code of this process at its limits of processor time, clock time and memory.

A check has a limit of time, and each request that it sends to the course's own code has limits of
time and memory, because a wrong program may never end. One timer serves all limits of time: each of
its ticks examines the innermost alarm. Processor time is that of this thread, which does not depend
on the load of the machine.
"""

import contextlib
import gc
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

from autograder.results import Status
from autograder.sandbox.faults import Fault
from autograder.sandbox.process_limits import MIB, mapped_bytes

if sys.platform != "win32":
    import resource

TICK_SECONDS = 0.01  # of clock time; an alarm may be late by as much
CHECK_TICK_SECONDS = 0.2  # processor time between two tests of a check's limit; most need less
WAITING = 10  # a request's limit of clock time, as a multiple of that of processor time
MANY_OBJECTS = 50_000  # between two collections of garbage; Python's default is 700
AGAIN = 0.1  # seconds between two attempts to stop it: a bare `except:` may catch the first
OUTSIDE: Final = frozenset({"contextlib", __name__})  # these enter and leave a block
# These must not be interrupted, because they keep state for other submissions.
SHIELDED: Final = frozenset(
    {
        "autograder.sandbox.session",
        "autograder.sandbox.supervisor",
        "autograder.sandbox.worker_process",
        "autograder.sandbox.executor",
        "autograder.suite.in_process",
        "importlib._bootstrap",
    }
)


@contextlib.contextmanager
def limit_check(seconds_left: Callable[[], float], call: tuple[str, str]) -> Iterator[None]:
    """Raise a ``Fault`` in the check in this block when there are no *seconds_left*.

    *call* names the module and the function that call the check. If the check can't be interrupted,
    its next request raises the ``Fault``.
    """
    block = sys._getframe(2)  # noqa: SLF001  # the frame of the caller, outside contextlib

    def end_check(frame: FrameType | None) -> None:
        if seconds_left() <= 0 and _may_end(frame, block, call):
            sentence = "Your answers used up the whole time limit of the submission."
            raise Fault(Status.TIMEOUT, sentence)

    with alarm(end_check, processor=CHECK_TICK_SECONDS, again=CHECK_TICK_SECONDS):
        yield


def _may_end(frame: FrameType | None, block: FrameType, call: tuple[str, str]) -> bool:
    """Whether *frame* belongs to a check that was called in *block*, and not to a request."""
    while frame is not None and frame is not block:
        module = frame.f_globals.get("__name__")
        if module in SHIELDED or (module, frame.f_code.co_name) == call:
            return module not in SHIELDED  # inside *call*, no code of the runner is active
        frame = frame.f_back
    return False


class OutOfTimeError(BaseException):
    """Raised when code has used up its time; ``except Exception`` does not catch it."""


@contextlib.contextmanager
def limit_request(seconds: float, mib: int) -> Iterator[None]:
    """Raise ``OutOfTimeError`` in the block after *seconds*; refuse more than *mib* MiB of memory.

    A program that only waits is stopped later, by the clock. A refused allocation raises
    ``MemoryError``, or a ``RuntimeError`` of torch. Garbage collection is off, because it takes
    longer the larger this process is, and would count against the time of the code.
    """
    rings = alarm(_stop, processor=seconds, clock=WAITING * seconds, again=AGAIN)
    with _limited_memory(mib * MIB), _no_garbage_collected(), rings:
        yield


def _stop(_frame: FrameType | None) -> None:
    raise OutOfTimeError


@contextlib.contextmanager
def _no_garbage_collected() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def rarely_collected() -> Iterator[None]:
    """Collect garbage rarely in the block, which makes many objects that stay, and few cycles."""
    usual = gc.get_threshold()
    gc.set_threshold(MANY_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


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


Interrupt = Callable[[FrameType | None], None]


class _Alarm:
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
    """Examine the innermost alarm, but not where its exception would be lost or leave its block."""
    name = frame.f_globals.get("__name__") if frame is not None else None
    collects = frame is not None and frame.f_code.co_name == "gc_callback"
    if _alarms and not collects and name not in OUTSIDE:
        _alarms[-1].look(frame)
