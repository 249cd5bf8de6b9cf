"""Grades a class on a cluster: submissions become tasks of ``dask.distributed``.

The workers have their own copies of the course and its secret, which are never sent. Submissions
and records are sent over TLS or stay on one machine. A worker with a different kit, torch, suite or
secret is refused, at the start or when it joins.
"""

import math
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import NamedTuple

from distributed.scheduler import KilledWorker

from autograder.course import Course
from autograder.errors import ClusterError, GraderError
from autograder.grading.cluster_grader import Answer, ClusterRun, Died, Graded
from autograder.grading.cluster_workers import (
    CONNECTION_ERRORS,
    UNUSABLE,
    Task,
    Workers,
    decode,
    open_workers,
    require_equal,
)
from autograder.grading.grade import DIED, SIGNAL_SECONDS, Class, OnResult
from autograder.grading.outcomes import failed_grading, unreadable
from autograder.grading.provenance import Provenance
from autograder.results import Results, SubmissionResult
from autograder.sandbox.isolation import Isolation
from autograder.submission import Submission
from autograder.submission.lazy_submissions import stages_with_code

TASKS_PER_THREAD = 2  # one is graded, the other waits at the worker
TASKS_LEFT = 8  # for each thread at least, so that all threads end at about the same time
MAX_TOGETHER = 16  # submissions in a task; dask takes the same time for one as for sixteen
MAX_BYTES = 2**20  # of code in a task, unless a single submission has more
KILLED = (
    "The cluster worker ended each time it graded this submission, the last time while it graded "
    "nothing else."
)


def isolation_of(course: Course, asked: str | None) -> Isolation:
    """Return the isolation that each worker must provide; this machine need not provide it."""
    return "process" if (asked or course.grading.isolation) == "process" else "full"


def grade_each(
    course: Course,
    submissions: Sequence[Submission],
    on_result: OnResult,
    *,
    address: str,
    folder: str = "",
    isolation: str | None = None,
    jobs: int | None = None,
    diagnose: bool = True,
) -> Results:
    """Grade *submissions* as ``grade.grade_each`` does, but on the workers of a cluster.

    *address* is the address of the scheduler. *folder* is the course's folder on the workers, by
    default the same as here. At most *jobs* tasks are sent at a time. Raises ``ClusterError``, or
    the error of a worker.
    """
    level = isolation_of(course, isolation)
    provenance = Provenance(course, level, diagnose=diagnose)
    wanted = stages_with_code(submissions)
    facts = provenance.facts(stage.name for stage in course.stages if stage.name in wanted)
    run = ClusterRun(
        id=uuid.uuid4().hex,
        course=folder or str(course.root.resolve()),
        stages=tuple(facts.suites),
        isolation=level,
        diagnose=diagnose,
        facts=facts.digest,
    )
    class_ = Class(submissions, provenance, on_result)
    with open_workers(address, run, facts) as workers:
        _grade_all(workers, _Tasks(workers, class_, provenance), len(submissions), jobs)
    return provenance.record(())


class _Sent(NamedTuple):
    """A submission that was sent to a worker, and the function that takes its result."""

    number: int
    submission: Submission
    add: Callable[[SubmissionResult], None]


class _Tasks:
    """The tasks that are now at the workers."""

    def __init__(self, workers: Workers, class_: Class, provenance: Provenance) -> None:
        self._workers = workers
        self._class = class_
        self._provenance = provenance
        self._sent: dict[Task, list[_Sent]] = {}
        self._ended: SimpleQueue[Task] = SimpleQueue()

    def __len__(self) -> int:
        return len(self._sent)

    def start(self, waiting: deque[int], count: int) -> None:
        """Read up to *count* waiting submissions, and send them as one task.

        A submission without code gets its result at once.
        """
        together: list[_Sent] = []
        size = 0
        while waiting and len(together) < count and size < MAX_BYTES:
            index = waiting.popleft()
            submission, add = self._class.begin(index)
            if submission.code is None:
                add(unreadable(submission))
            else:
                together.append(_Sent(index, submission, add))
                size += sum(map(len, submission.code.cells))
        if together:
            future = self._workers.submit([one.submission for one in together])
            self._sent[future] = together
            future.add_done_callback(self._ended.put)

    def finish(self, *, alone: bool) -> list[int]:
        """Take the results that have arrived; list the submissions whose workers died.

        A submission that was sent *alone* then gets no grade, as after two deaths of its process.
        """
        killed = []
        for future, outcome in self._workers.answers(self._some_ended()).items():
            together = self._sent.pop(future)
            if not isinstance(outcome, KilledWorker):
                for one, answer in zip(together, decode(outcome, len(together)), strict=True):
                    one.add(self._result(one.submission, answer))
            elif alone:
                for one in together:
                    one.add(failed_grading(one.submission, GraderError(KILLED)))
            else:
                killed += [one.number for one in together]
        return killed

    def cancel(self) -> None:
        """Cancel the tasks that no worker has started."""
        with suppress(*CONNECTION_ERRORS):
            self._workers.client.cancel(list(self._sent))

    def _some_ended(self) -> list[Task]:
        """Wait briefly; list the tasks that have ended."""
        ended = []
        with suppress(Empty):
            ended.append(self._ended.get(timeout=SIGNAL_SECONDS))
            while True:
                ended.append(self._ended.get_nowait())
        return ended

    def _result(self, submission: Submission, answer: Answer) -> SubmissionResult:
        """Return the result in *answer*; raise errors that the submission did not cause."""
        if isinstance(answer, Died):
            return failed_grading(submission, GraderError(DIED))
        require_equal(self._workers.facts, answer)
        key = self._provenance.key(submission.stage, submission.digest)
        if isinstance(answer, Graded) and answer.result.audit and answer.result.audit.key == key:
            return answer.result
        raise ClusterError(UNUSABLE)


def _grade_all(workers: Workers, tasks: _Tasks, count: int, jobs: int | None) -> None:
    """Grade *count* submissions; one whose workers died is graded once more, alone."""
    waiting, suspects, alone = deque(range(count)), list[int](), False
    try:
        while waiting or suspects or tasks:
            workers.look()
            if not waiting and not tasks:
                alone = True  # from now on
                tasks.start(deque([suspects.pop()]), 1)
            most = min(jobs or math.inf, TASKS_PER_THREAD * workers.threads)
            while waiting and len(tasks) < most:
                share = len(waiting) // (TASKS_LEFT * workers.threads)
                tasks.start(waiting, max(1, min(share, MAX_TOGETHER)))
            suspects += tasks.finish(alone=alone)
    except BaseException:
        tasks.cancel()
        raise
