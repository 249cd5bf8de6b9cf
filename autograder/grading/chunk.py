"""Grades a chunk of submissions on a worker of ``dask.distributed``, in a separate process.

The process grades as ``autograder grade`` does on one machine, returns the lines for the journal,
and ends when the worker, which reads its lines, has ended. The worker itself does not need torch.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from autograder.course import load
from autograder.course_file import Isolation
from autograder.errors import AutograderError, ClusterError, LostProcessError
from autograder.grading.provenance import Provenance
from autograder.results import SubmissionResult
from autograder.submission import Submission


class Chunk(msgspec.Struct, frozen=True):
    """Submissions to grade, and the *facts* of the machine that collects the results."""

    course: str  # its folder on the worker
    isolation: Isolation
    facts: dict[str, Any]
    submissions: tuple[Submission, ...] = ()


def grade_chunk(chunk: bytes) -> bytes:
    """Grade *chunk* in a new process; return one line of JSON for each result.

    Raises ``LostProcessError`` if the process was killed, and ``ClusterError`` if it refused.
    """
    from distributed import get_worker  # noqa: PLC0415  # the new process does not need dask

    command = [sys.executable, "-P", "-m", __name__]
    # In its own session, because Ctrl-C ends the worker, and another one then grades the chunk.
    done = subprocess.run(  # noqa: S603  # this Python, this package
        command, input=chunk, capture_output=True, check=False, start_new_session=True
    )
    if done.returncode < 0:
        raise LostProcessError
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise ClusterError(f"{get_worker().address}: {message}")
    return done.stdout


def main() -> None:
    """Grade the chunk in the standard input; exit with a message if that is not possible."""
    chunk = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Chunk)
    with os.fdopen(os.dup(1), "wb", buffering=0) as lines:
        os.dup2(2, 1)  # other output must not mix with the lines

        def write(_index: int, result: SubmissionResult) -> None:
            lines.write(msgspec.json.encode(result) + b"\n")

        try:
            course = load(Path(chunk.course))
            stages = {one.stage for one in chunk.submissions if one.code}
            _require_equal(chunk.facts, Provenance(course, chunk.isolation).facts(stages))
            from autograder.grading.grade import grade_each  # noqa: PLC0415  # imports torch

            grade_each(course, chunk.submissions, write, isolation=chunk.isolation, jobs=1)
        except AutograderError as error:
            sys.exit(str(error))


def _require_equal(here: dict[str, Any], there: dict[str, Any]) -> None:
    """Raise ``ClusterError`` with the first fact of this worker that is different *here*."""
    for name, value in there.items():
        if value != (other := here.get(name)):
            values = f"{name} is {str(other)[:12]} here and {str(value)[:12] or 'missing'} there"
            raise ClusterError(f"This worker would grade differently, so it is not used: {values}.")


if __name__ == "__main__":
    main()
