"""Grades in a separate process: submissions arrive by a pipe, and results are sent back.

This module needs no torch, so that a process that only waits for results loads none.
"""

import gc
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection

from autograder.course_file import Limits
from autograder.errors import LostProcessError, lacks_memory
from autograder.results import SubmissionResult
from autograder.sandbox.process_limits import MIB, limit_memory, limit_processor_time

STOP_SECONDS = 10.0  # for a grading process to end its worker; then it is killed

GradeInSandbox = Callable[..., SubmissionResult]  # of a submission and the number of the client


def serve(
    grade_in_sandbox: GradeInSandbox,
    limits: Limits,
    client: int,
    pipe: Connection,
    inherited: Sequence[Connection] = (),
    idle_seconds: float | None = None,
) -> None:
    """Grade the submissions that arrive, until the parent closes the pipe or dies.

    With *idle_seconds*, also until none has arrived for that long.
    """
    gc.freeze()  # torch and the suites stay: no collection looks at their 200,000 objects again
    limit_memory(limits.grader_mib * MIB)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then terminates
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # raises, so that the worker ends too
    for other in inherited:  # while a copy is open here, no fork notices that the parent died
        other.close()
    with suppress(EOFError, OSError, KeyboardInterrupt):  # the parent closed the pipe, or died
        while pipe.poll(idle_seconds):
            submission = pipe.recv()
            limit_processor_time(limits.grader_seconds)
            answer: SubmissionResult | BaseException
            try:
                answer = grade_in_sandbox(submission, client)
            except BaseException as error:  # noqa: BLE001  # the parent raises it
                if isinstance(error, LostProcessError) or lacks_memory(error):
                    return  # the parent starts others, and grades the submission again
                answer = error
            pipe.send(answer)
            if isinstance(answer, KeyboardInterrupt):  # SIGTERM
                return


def receive(pipe: Connection) -> SubmissionResult | None:
    """Return a fork's result, or ``None`` if it has died; raises what the fork raised."""
    try:
        answer: SubmissionResult | BaseException = pipe.recv()
    except (EOFError, OSError):
        return None
    if isinstance(answer, BaseException):
        raise answer
    return answer
