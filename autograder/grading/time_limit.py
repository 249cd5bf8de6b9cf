"""Ends a check whose work in this process exceeds the time limit of its submission."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from autograder.grading.pytest_session import CHECK
from autograder.results import Status
from autograder.sandbox.faults import Fault
from autograder.suite.alarm import alarm

TICK_SECONDS = 0.2  # of processor time between two looks; most checks need less
# Never while a request is answered: what they keep for other submissions must stay whole.
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
    """Raise a ``Fault`` in the check that runs in this block once it has no *seconds_left*.

    Where nothing can interrupt the check, its next request raises it.
    """
    block = sys._getframe(2)  # noqa: SLF001  # the frame of the caller, outside contextlib

    def end_check(frame: FrameType | None) -> None:
        if seconds_left() <= 0 and _may_end(frame, block):
            sentence = "Your answers used up the whole time limit of the submission."
            raise Fault(Status.TIMEOUT, sentence)

    with alarm(end_check, processor=TICK_SECONDS, again=TICK_SECONDS):
        yield


def _may_end(frame: FrameType | None, block: FrameType) -> bool:
    """Whether a check that was called in *block* runs in *frame*, and no request of it."""
    while frame is not None and frame is not block:
        module = frame.f_globals.get("__name__")
        if module in SHIELDED:
            return False
        if (module, frame.f_code.co_name) == CHECK:  # nothing of the runner's is inside of it
            return True
        frame = frame.f_back
    return False
