"""Grades a class on a cluster: chunks of submissions become tasks of ``dask.distributed``.

The workers have their own copies of the course and its secret, which are never sent. Submissions
and results are sent over TLS or stay on one machine. A chunk whose worker has died is graded again.
"""

import logging
import math
import re
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

import msgspec
from distributed import CancelledError, Client, Future, wait
from distributed.client import ClosedClientError
from distributed.comm.addressing import get_address_host, parse_address
from distributed.scheduler import KilledWorker
from msgspec.structs import replace

from autograder.course import Course
from autograder.course_file import Isolation
from autograder.errors import ClusterError, GraderError, LostProcessError
from autograder.grading.chunk import Chunk, grade_chunk
from autograder.grading.grade import OnResult
from autograder.grading.outcomes import failed_grading
from autograder.grading.provenance import Provenance
from autograder.results import Results, SubmissionResult
from autograder.submission import Submission
from autograder.submission.collect import stages_with_code

MIN_CHUNK = 50  # starting a process takes as long as grading this many submissions
MAX_CHUNK = 400  # these are graded again if their worker dies; about 8 MB are sent together
MAX_RESULT = 2**22  # bytes on average; a result has 20 KB, rarely 2 MB
WAIT_SECONDS = 60.0  # to wait for a worker, which dask's nanny restarts within seconds
LOOK_SECONDS = 1.0  # between two counts of the workers
DIED = "Each worker that graded this submission ended, the last one while it graded nothing else."
_LOOPBACK: Final = re.compile(r"localhost|::1|127(\.\d+){3}")
_KEY: Final = attrgetter("audit.key")
_RESULTS: Final = msgspec.json.Decoder(SubmissionResult)
_ERRORS = (  # of an address, of a connection, of a worker without this kit, of an invalid answer
    *(ValueError, TypeError, OSError, RuntimeError, ClosedClientError, CancelledError),
    *(ImportError, AttributeError, msgspec.MsgspecError),
)


def grade_each(
    course: Course,
    submissions: Sequence[Submission],
    on_result: OnResult,
    *,
    address: str,
    folder: str = "",
    isolation: Isolation | None = None,
    jobs: int | None = None,
) -> Results:
    """Grade as ``grade.grade_each`` does, but on the workers of the scheduler at *address*.

    *folder* is the course's folder on the workers, by default the same as here. At most *jobs*
    chunks are sent at a time. Raises ``ClusterError``.
    """
    level = isolation or course.grading.isolation  # of the workers; this machine may lack it
    provenance = Provenance(course, level)
    facts = provenance.facts(stages_with_code(submissions))
    empty = Chunk(folder or str(course.root.resolve()), level, facts)
    logging.disable()  # dask logs the tracebacks of errors that become one sentence here
    try:
        _require_private(address)
        with Client(address) as client:
            _Run(client, submissions, on_result, provenance, empty).grade(jobs or math.inf)
    except _ERRORS as error:
        reason = f"{type(error).__name__}: {error}".rstrip(".: ")
        msg = f"The cluster at {address} can't be used: {reason}. See docs/scaling.md."
        raise ClusterError(msg) from error
    finally:
        logging.disable(logging.NOTSET)
    return provenance.record(())


@dataclass(frozen=True)
class _Run:
    """The run of a class; *sent* has the keys and the indices of each chunk at the workers."""

    client: Client
    submissions: Sequence[Submission]
    on_result: OnResult
    provenance: Provenance
    empty: Chunk
    sent: dict["Future[bytes]", list[tuple[str, int]]] = field(default_factory=dict)

    def grade(self, jobs: float) -> None:
        """Grade all chunks; if the workers of one died, its halves are graded alone at the end."""
        count, suspects = len(self.submissions), list[Sequence[int]]()
        size = min(MAX_CHUNK, max(MIN_CHUNK, math.ceil(count / self._threads() / 2)))
        waiting = deque(range(count)[begin : begin + size] for begin in range(0, count, size))
        while waiting or suspects or self.sent:
            threads = self._threads()
            while waiting and len(self.sent) < min(jobs, threads):
                self._send(waiting.popleft())
            if not self.sent:
                self._send(suspects.pop())
            for chunk in self._receive():
                if len(chunk) > 1 or waiting or self.sent:
                    middle = len(chunk) // 2
                    suspects += filter(len, (chunk[:middle], chunk[middle:]))
                else:
                    submission = self.submissions[chunk[0]]
                    result = failed_grading(submission, GraderError(DIED))
                    self.on_result(chunk[0], self.provenance.begin(submission)(result))

    def _threads(self) -> int:
        """Count the threads of all workers; wait until there is one."""
        self.client.wait_for_workers(1, WAIT_SECONDS)
        threads: dict[str, int] = self.client.nthreads()
        for address in threads:
            _require_private(address)
        return max(1, sum(threads.values()))

    def _send(self, chunk: Sequence[int]) -> None:
        """Send only the code, not the files that a grading process does not need."""
        found = [self.submissions[index] for index in chunk]
        code = tuple(replace(one, lab=None, stamp=None, secret=None) for one in found)
        data = msgspec.msgpack.encode(replace(self.empty, submissions=code))
        keys = [self.provenance.key(one.stage, one.digest) for one in found]
        future = self.client.submit(grade_chunk, data, pure=False)
        self.sent[future] = sorted(zip(keys, chunk, strict=True))

    def _receive(self) -> list[Sequence[int]]:
        """Wait briefly, and take the results; return the chunks whose workers died."""
        killed = list[Sequence[int]]()
        with suppress(TimeoutError):
            wait(list(self.sent), LOOK_SECONDS, "FIRST_COMPLETED")
        for future in [one for one in self.sent if one.done()]:
            try:
                self._take(future.result(WAIT_SECONDS), self.sent[future])
            except TimeoutError:  # the results are lost with their worker; dask grades again
                continue
            except (KilledWorker, LostProcessError):
                killed.append([index for _, index in self.sent[future]])
            del self.sent[future]
        return killed

    def _take(self, lines: bytes, chunk: list[tuple[str, int]]) -> None:
        """Take the results of *chunk*; raise ``ClusterError`` if their keys are different."""
        is_bounded = len(lines) <= MAX_RESULT * len(chunk)
        results = sorted(_RESULTS.decode_lines(lines), key=_KEY) if is_bounded else []
        if [_KEY(result) for result in results] != [key for key, _ in chunk]:
            msg = "A worker returned results whose keys differ from those of this machine."
            raise ClusterError(msg)
        for (_, index), result in zip(chunk, results, strict=True):
            self.on_result(index, result)


def _require_private(address: str) -> None:
    """Raise ``ClusterError`` if others could read or change the data sent to *address*."""
    is_encrypted = parse_address(address)[0] in {"tls", "wss", "inproc"}
    if not is_encrypted and not _LOOPBACK.fullmatch(get_address_host(address)):
        raise ClusterError(
            f"{address} is not encrypted, so others could read submissions and change grades. "
            "Start the scheduler and the workers with TLS (docs/scaling.md)."
        )
