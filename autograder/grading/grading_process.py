"""Grades in a separate process, which gets submissions and returns results through a pipe.

This module does not import torch, because a process that waits for results does not need it.
"""

import gc
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection

from autograder.course_file import Limits
from autograder.errors import LostProcessError, lacks_memory
from autograder.results import SubmissionResult
from autograder.sandbox.process_limits import (
    MIB,
    limit_memory,
    limit_processor_time,
    return_freed_memory,
)

STOP_SECONDS = 10.0  # to wait until a grading process has ended its worker, before it is killed

GradeInSandbox = Callable[..., SubmissionResult]  # takes a submission and a client's number


def grade_from_pipe(
    grade_in_sandbox: GradeInSandbox,
    limits: Limits,
    client: int,
    pipe: Connection,
    inherited: Sequence[Connection] = (),
) -> None:
    """Grade the submissions that arrive, until the parent closes the pipe or dies."""
    gc.freeze()  # collections skip the 200,000 objects of torch and the suites
    return_freed_memory()
    limit_memory(limits.grader_mib * MIB)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the worker ends, too
    for other in inherited:  # open copies would hide from other forks that the parent has died
        other.close()
    with suppress(EOFError, OSError, KeyboardInterrupt):  # the parent closed the pipe or died
        while True:
            submission = pipe.recv()
            limit_processor_time(limits.grader_seconds)
            answer: SubmissionResult | BaseException
            try:
                answer = grade_in_sandbox(submission, client)
            except BaseException as error:  # noqa: BLE001  # the parent raises it
                if isinstance(error, LostProcessError) or lacks_memory(error):
                    return  # the parent starts a new process, which grades it again
                answer = error
            pipe.send(answer)
            if isinstance(answer, KeyboardInterrupt):  # SIGTERM
                return


def receive(pipe: Connection) -> SubmissionResult | None:
    """Return a fork's result, or ``None`` if the fork has died; raise the fork's exception."""
    try:
        answer: SubmissionResult | BaseException = pipe.recv()
    except (EOFError, OSError):
        return None
    if isinstance(answer, BaseException):
        raise answer
    return answer
