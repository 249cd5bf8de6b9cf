"""Grades submissions on a cluster machine; tasks take and return bytes.

The functions ``describe``, ``grade`` and ``close`` run in a worker of ``dask.distributed``, which
has threads and may not start children with ``multiprocessing``. Therefore each thread uses a
separate Python process, which grades like a grading process on one machine. This process ends with
the worker, with the run, or when nothing has arrived for a while. The worker itself needs no torch.
"""

import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock, Thread

import msgspec

from autograder.course import load
from autograder.errors import AutograderError, GraderError
from autograder.grading.grading_process import STOP_SECONDS, receive, serve
from autograder.grading.provenance import Facts, Provenance
from autograder.results import SubmissionResult
from autograder.sandbox.isolation import Isolation, choose_isolation
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Submission

TRIES = 2  # the second one in a new process, as on one machine
IDLE_SECONDS = 120.0  # a killed supervisor can't end these processes


class ClusterRun(msgspec.Struct, frozen=True):
    """The run that a task belongs to; *facts* is the digest of the supervisor's facts."""

    id: str
    course: str  # its folder on the worker
    stages: tuple[str, ...]
    isolation: Isolation
    diagnose: bool
    facts: str


class Described(msgspec.Struct, frozen=True, tag=True):
    """An answer with the facts that affect the worker's grades."""

    facts: Facts
    worker: str = ""


class Graded(msgspec.Struct, frozen=True, tag=True):
    """An answer with the result of a submission."""

    result: SubmissionResult


class Refused(msgspec.Struct, frozen=True, tag=True):
    """An answer with the error because of which a worker can't grade; *kind* is its class."""

    kind: str
    message: str
    worker: str = ""


class Died(msgspec.Struct, frozen=True, tag=True):
    """An answer that every process which graded the submission ended early."""


Answer = Described | Graded | Refused | Died


def describe(run: bytes) -> bytes:
    """Return the facts that affect how this worker grades *run*."""
    return msgspec.msgpack.encode([_answer(lambda: Described(_pool(run).facts))])


def grade(run: bytes, submissions: bytes) -> bytes:
    """Return an answer for each of *submissions*; a worker that differs returns its facts."""
    answers = [
        _answer(partial(_grade_one, run, one))
        for one in msgspec.msgpack.decode(submissions, type=list[Submission])
    ]
    return msgspec.msgpack.encode(answers)


def _grade_one(run: bytes, submission: Submission) -> Answer:
    return _pool(run).grade(submission)


def close(run: bytes) -> None:
    """End the processes of *run*."""
    with _POOLS.lock:
        pool = _POOLS.by_run.pop(run, None)
    if pool is not None:
        Thread(target=pool.close).start()  # this thread handles the worker's messages


class GraderProcess:
    """A Python process that has loaded the suites and grades one submission at a time."""

    def __init__(self, run: ClusterRun) -> None:
        self._pipe, other_end = Pipe()
        number = other_end.fileno()
        words = (number, run.course, run.isolation, int(run.diagnose), *run.stages)
        self._process = subprocess.Popen(  # noqa: S603  # this Python, this package
            [sys.executable, "-P", "-m", "autograder.grading.cluster_grader", *map(str, words)],
            pass_fds=[number],
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C ends the worker, which closes its processes
        )
        other_end.close()

    @property
    def runs(self) -> bool:
        """Whether the process is still running."""
        return self._process.poll() is None

    def ask(self, submission: Submission) -> SubmissionResult | None:
        """Return the result, or None if the process has died; raise the error of the process."""
        with suppress(OSError):  # the process has died; `receive` reports it
            self._pipe.send(submission)
        try:
            return receive(self._pipe)
        except KeyboardInterrupt:  # the process was ended with its run
            return None

    def close(self) -> None:
        """End the process and its fork server; a thread that waits for its answer continues."""
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        self._process.kill()
        self._process.wait()


class GraderPool:
    """The processes that grade one run on one worker, one for each thread that uses the pool."""

    def __init__(self, run: ClusterRun) -> None:
        course = load(Path(run.course))
        level = choose_isolation(run.isolation, course.root)
        self._provenance = Provenance(course, level, diagnose=run.diagnose)
        self.facts = self._provenance.facts(run.stages)
        self._run = run
        self._lock = Lock()
        self._idle: list[GraderProcess] = []
        self._processes: set[GraderProcess] = set()
        self._is_closed = False

    def grade(self, submission: Submission) -> Answer:
        """Grade *submission*, and try again in a new process if the process dies."""
        if self.facts.digest != self._run.facts:
            return Described(self.facts, _address())
        add_audit = self._provenance.begin(submission)
        for number in range(TRIES):
            if result := self._ask(submission, is_new=number > 0):
                return Graded(add_audit(result))
        return Died()

    @property
    def is_used(self) -> bool:
        """Whether any of its processes is running."""
        with self._lock:
            return any(process.runs for process in self._processes)

    def close(self) -> None:
        """End all processes; a submission that is being graded is not graded again."""
        with self._lock:
            self._is_closed = True
            processes = list(self._processes)
        for process in processes:
            process.close()

    def _ask(self, submission: Submission, *, is_new: bool) -> SubmissionResult | None:
        process = self._take(is_new=is_new)
        if process is None:
            return None
        result = None
        try:
            result = process.ask(submission)
        finally:
            with self._lock:
                if result:
                    self._idle.append(process)
                else:
                    self._processes.discard(process)
            if not result:  # the process has died or can't grade
                process.close()
        return result

    def _take(self, *, is_new: bool) -> GraderProcess | None:
        with self._lock:
            if self._is_closed:
                return None
            while self._idle and not is_new:
                process = self._idle.pop()
                if process.runs:
                    return process
                self._processes.discard(process)
            process = GraderProcess(self._run)
            self._processes.add(process)
            return process


class _Pools:
    """The pools of this worker by run."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.by_run: dict[bytes, GraderPool] = {}


_POOLS = _Pools()  # module state, because dask passes nothing else from one task to the next


def _pool(run: bytes) -> GraderPool:
    """Return the pool of *run*, and drop the pools whose processes have all ended."""
    with _POOLS.lock:
        if run not in _POOLS.by_run:
            _POOLS.by_run = {key: one for key, one in _POOLS.by_run.items() if one.is_used}
            _POOLS.by_run[run] = GraderPool(msgspec.msgpack.decode(run, type=ClusterRun))
        return _POOLS.by_run[run]


def _answer(work: Callable[[], Answer]) -> Answer:
    """Return the answer of *work*, or its error as an answer."""
    try:
        return work()
    except AutograderError as error:
        return Refused(type(error).__name__, str(error), _address())
    except Exception as error:  # noqa: BLE001  # an exception would be sent as a pickle
        return Refused(GraderError.__name__, f"{type(error).__name__}: {error}", _address())


def _address() -> str:
    """Return the address of the worker that this task runs on; empty outside of a task."""
    from distributed import get_worker  # noqa: PLC0415  # a grading process does not need dask

    try:
        return str(get_worker().address)
    except ValueError:
        return ""


def main(number: str, folder: str, isolation: Isolation, diagnose: str, *stages: str) -> None:
    """Grade the submissions that arrive at the descriptor *number*; send an error if it fails."""
    from autograder.grading.grade import grade_one  # noqa: PLC0415  # imports torch
    from autograder.grading.suite_runner import open_suites  # noqa: PLC0415  # imports torch

    pipe = Connection(int(number))
    try:
        course = load(Path(folder))
        chosen = [course.stage(name) for name in stages]
        with (
            open_suites(course, chosen, diagnose=bool(int(diagnose))) as runner,
            ForkServer(isolation, course.limits) as fork_server,
        ):
            runner.require_right_solutions()  # while the fork server imports torch
            fork_server.wait_ready()
            grade = partial(grade_one, runner, fork_server)
            serve(grade, course.limits, 0, pipe, idle_seconds=IDLE_SECONDS)
    except AutograderError as error:
        with suppress(OSError):
            pipe.send(error)


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]  # `GraderProcess` passes an isolation
