"""The journal beside a record: each result as it was judged, so that no run begins anew.

A run that was interrupted goes on where it stopped, and a regrade judges only what changed. The
first line names the format; each other line is a result with the key of all that decided it
(``provenance``). Lines that can't be read, such as the last one of a killed run, are ignored. No
torch is imported before something has to be judged.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any, Self

import msgspec

from autograder.course import Course
from autograder.disk import lock, replacing_file
from autograder.errors import UsageError
from autograder.grading.provenance import Provenance
from autograder.results import (
    FORMAT_VERSION,
    Results,
    Status,
    SubmissionResult,
    share_checks,
)
from autograder.sandbox.supervisor import choose_isolation
from autograder.submission.files import reason
from autograder.submission.lazy_submissions import LazySubmissions

SUFFIX = ".journal"  # behind the name of the record
_HEAD = b'{"journal":1,"format_version":%d}\n' % FORMAT_VERSION


class Journal:
    """The journal of the record in *file*, for one run at a time.

    *results* are those that it holds, by their keys; with *fresh*, it begins anew. *fault* says why
    results could not be written; the grading goes on without.
    """

    def __init__(self, file: Path, *, fresh: bool = False) -> None:
        self.file = journal_of(file)
        self.fault = ""
        self.results: dict[str, SubmissionResult] = {}
        self._stream = _open(self.file)
        if not lock(self._stream.fileno()):
            self._stream.close()
            msg = f"Another run grades into {file} now. Wait until it has ended, or name another."
            raise UsageError(msg)
        self._is_torn = False
        self._lines = 0 if fresh else self._read()
        if not self._lines:
            self._stream.truncate(0)
            self._write(_HEAD)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stream.close()

    def add(self, result: SubmissionResult) -> None:
        """Append *result*, unless there is no grade: that is judged again in any case."""
        if result.audit is not None and result.status is not Status.GRADER_ERROR:
            self._lines += 1
            self.results[result.audit.key] = result
            self._write(msgspec.json.encode(result) + b"\n")

    def tidy(self, results: Results) -> None:
        """Drop outdated lines of the students in *results*, if these are most of the lines."""
        current = {(one.student, one.stage): one for one in results.submissions}
        used = {one.audit.key for one in results.submissions if one.audit}
        kept = [
            one
            for key, one in self.results.items()
            if key in used or (one.student, one.stage) not in current
        ]
        if self._lines <= 2 * len(kept) or self.fault:
            return
        try:
            with replacing_file(self.file) as draft, draft.open("wb") as stream:
                stream.write(_HEAD)
                stream.writelines(msgspec.json.encode(one) + b"\n" for one in kept)
        except OSError as error:
            self.fault = reason(error)

    def _read(self) -> int:
        """Read the results; return how many lines there are, 0 if it is no journal of ours."""
        known: dict[Any, Any] = {}
        count = 1
        # A second open file of this process would end the lock when it is closed.
        with os.fdopen(self._stream.fileno(), "rb", closefd=False) as lines:
            lines.seek(0)
            if lines.readline() != _HEAD:
                return 0
            for line in lines:
                count += 1
                self._is_torn = not line.endswith(b"\n")
                with suppress(msgspec.DecodeError, UnicodeDecodeError):
                    result = msgspec.json.decode(line, type=SubmissionResult)
                    if result.audit is not None and result.status is not Status.GRADER_ERROR:
                        self.results[result.audit.key] = share_checks(result, known)
        return count

    def _write(self, line: bytes) -> None:
        """Append *line* at once: what follows a torn line begins on a new one."""
        data = b"\n" * self._is_torn + line
        try:
            self._is_torn = self._stream.write(data) != len(data)
        except OSError as error:  # the disk is full; the record of this run is still made
            self.fault = reason(error)
            self._is_torn = True


def journal_of(record: Path) -> Path:
    """Return the place of the journal beside *record*."""
    return record.with_name(record.name + SUFFIX)


def grade_with_journal(
    course: Course,
    submissions: LazySubmissions,
    journal: Journal,
    *,
    isolation: str | None = None,
    jobs: int | None = None,
    on_result: Callable[[SubmissionResult], None] = lambda _result: None,
    grade: Callable[..., Results] | None = None,
) -> Results:
    """Grade those of *submissions* whose results *journal* does not hold; return all results.

    They are what *grade* returns, by default ``grade.grade``, but for the times. Another one, such
    as ``cluster.grade``, needs no isolation on this machine. Raises what it raises.
    """
    asked = isolation or course.grading.isolation
    level = asked if grade else choose_isolation(asked, course.root)
    provenance = Provenance(course, level)
    keys = [provenance.key(one.stage, one.digest) for one in submissions.outlines]
    results = {
        index: journal.results[key] for index, key in enumerate(keys) if key in journal.results
    }
    for result in results.values():
        on_result(result)

    def keep(result: SubmissionResult) -> None:
        journal.add(result)
        on_result(result)

    left = [index for index in range(len(keys)) if index not in results]
    if left:
        from autograder.grading import grade as local  # noqa: PLC0415  # imports torch

        chosen, judge = submissions.subset(left), grade or local.grade
        judged = judge(course, chosen, isolation=level, jobs=jobs, on_result=keep).submissions
        results |= dict(zip(left, judged, strict=True))
    made = provenance.record(results[index] for index in range(len(keys)))
    journal.tidy(made)
    return made


def _open(file: Path) -> FileIO:
    """Open *file* to be read and appended to, without a buffer; raises ``UsageError``."""
    try:
        return FileIO(file, "a+")
    except OSError as error:
        msg = f"Nothing was graded, as {file} can't be written: {error.strerror}."
        raise UsageError(msg) from error
