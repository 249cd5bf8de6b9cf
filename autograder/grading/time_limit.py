"""Ends a check when the supervisor's work for a submission exceeds its time limit."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from autograder.grading.pytest_session import CHECK
from autograder.results import Status
from autograder.sandbox.faults import Fault
from autograder.suite.alarm import alarm

TICK_SECONDS = 0.2  # processor time between two tests of the limit; most checks need less
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


@contextmanager
def limited(seconds_left: Callable[[], float]) -> Iterator[None]:
    """Raise a ``Fault`` in the check in this block when there are no *seconds_left*.

    If the check can't be interrupted, its next request raises the ``Fault``.
    """
    block = sys._getframe(2)  # noqa: SLF001  # the frame of the caller, outside contextlib

    def end_check(frame: FrameType | None) -> None:
        if seconds_left() <= 0 and _may_end(frame, block):
            sentence = "Your answers used up the whole time limit of the submission."
            raise Fault(Status.TIMEOUT, sentence)

    with alarm(end_check, processor=TICK_SECONDS, again=TICK_SECONDS):
        yield


def _may_end(frame: FrameType | None, block: FrameType) -> bool:
    """Whether *frame* belongs to a check that was called in *block*, and not to a request."""
    while frame is not None and frame is not block:
        module = frame.f_globals.get("__name__")
        if module in SHIELDED:
            return False
        if (module, frame.f_code.co_name) == CHECK:  # inside it, no code of the runner is active
            return True
        frame = frame.f_back
    return False
