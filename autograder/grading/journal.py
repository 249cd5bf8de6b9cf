"""Stores each result when it is graded, so that an interrupted run can resume.

A second run grades only submissions that are new or affected by a change. The first line names the
format. All further lines are results, each with a key: the digest of everything that affects it
(``provenance``). Lines that can't be read, such as the last line of a killed run, are ignored.
torch is imported only if a submission must be graded.
"""

import os
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from io import FileIO
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import Final, Self

import msgspec
from msgspec.structs import replace

from autograder.course import Course
from autograder.disk import lock, replacing_file
from autograder.errors import UsageError
from autograder.grading.provenance import Provenance
from autograder.results import FORMAT_VERSION, Results, Status, SubmissionResult
from autograder.sandbox.isolation import choose_isolation
from autograder.sanitize import identifier
from autograder.stored_results import Place, StoredResults, SubmissionScore, matched
from autograder.submission.collect import LazySubmissions
from autograder.submission.files import reason

SUFFIX = ".journal"  # appended to the name of the record
_HEAD = b'{"journal":1,"format_version":%d}\n' % FORMAT_VERSION
_IN_MEMORY: Final = 2**62  # larger places are in memory, not in the file


class Journal:
    """The journal next to the record *file*, or a temporary one; only one run can open it.

    With *fresh*, a run forgets the earlier results of its submissions. *fault* is the reason why
    results could not be written. These are kept in memory, and the grading continues.
    """

    def __init__(self, file: Path | None = None, *, fresh: bool = False) -> None:
        self._record = file
        self.file = journal_of(file) if file else None
        self.fresh = fresh
        self.fault = ""
        self._stream = self._opened()
        self._lines = 0
        self._unwritten: list[bytes] = []
        self._is_torn = False
        self._stream.seek(0)
        if self._stream.read(len(_HEAD)) != _HEAD:
            self._stream.truncate(0)
            self._write(_HEAD)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stream.close()

    def forget(self, keys: Collection[tuple[str, str]]) -> None:
        """Remove the results of *keys*, pairs of a student and a stage."""
        if self.file is None:
            return
        try:
            with replacing_file(self.file) as draft, draft.open("wb") as stream:
                stream.write(_HEAD)
                places = [
                    place for one, place in self.results() if (one.student, one.stage) not in keys
                ]
                stream.writelines(text.removesuffix(b"\n") + b"\n" for text in self.read(places))
        except OSError as error:
            raise UsageError(f"{self.file} can't be written: {error.strerror}.") from error
        self._stream.close()
        self._stream = self._opened()
        self._is_torn = False

    def add(self, result: SubmissionResult) -> Place:
        """Append *result*; return its place."""
        return self._write(msgspec.json.encode(result) + b"\n")

    def results(self) -> Iterator[tuple[SubmissionResult, Place]]:
        """Yield each result with its place, without results that have no grade."""
        self._lines = end = 0
        # Closing a second open file of this process would release the lock.
        with os.fdopen(self._stream.fileno(), "rb", closefd=False) as lines:
            lines.seek(0)
            for line in lines:
                self._lines += 1
                begin, end = end, end + len(line)
                self._is_torn = not line.endswith(b"\n")
                with suppress(msgspec.DecodeError, UnicodeDecodeError):
                    result = msgspec.json.decode(line, type=SubmissionResult)
                    if result.audit is not None and result.status is not Status.GRADER_ERROR:
                        yield result, (begin, end)

    def read(self, places: Iterable[Place]) -> Iterator[bytes]:
        """Yield the JSON of the results at *places*."""
        for begin, end in places:
            if begin >= _IN_MEMORY:
                yield self._unwritten[begin - _IN_MEMORY]
            else:
                self._stream.seek(begin)
                yield self._stream.read(end - begin)

    def tidy(self, count: int, places: Iterable[Place]) -> None:
        """Remove all lines except the *count* lines at *places*, if most lines are others."""
        if self.file is None or self._lines <= 2 * count or self.fault:
            return
        try:
            with replacing_file(self.file) as draft, draft.open("wb") as stream:
                stream.write(_HEAD)
                for text in self.read(places):  # the last line of a killed run may lack its end
                    stream.write(text.removesuffix(b"\n") + b"\n")
        except OSError as error:
            self.fault = reason(error)

    def _opened(self) -> FileIO:
        """Open the file for this run alone; raise ``UsageError`` if another run has it."""
        try:  # without a buffer; a temporary file is deleted when it is closed
            stream = FileIO(self.file, "a+") if self.file else TemporaryFile(buffering=0)  # noqa: SIM115  # `__exit__` closes it
        except OSError as error:
            place = self.file or gettempdir()
            raise UsageError(
                f"Nothing was graded because {place} can't be written: {error.strerror}."
            ) from error
        if not lock(stream.fileno()):
            stream.close()
            raise UsageError(
                f"Another run is writing its results to {self._record}. "
                "Wait until that run has ended, or choose a different file."
            )
        return stream

    def _write(self, line: bytes) -> Place:
        """Append *line*, on a new line if the last one is incomplete; return its place."""
        self._lines += 1
        begin = self._stream.seek(0, os.SEEK_END) + self._is_torn
        data = b"\n" * self._is_torn + line
        try:
            self._is_torn = self._stream.write(data) != len(data)
        except OSError as error:  # such as a full disk; the run continues
            self.fault = reason(error)
            self._is_torn = True
        if not self._is_torn:
            return begin, begin + len(line)
        self._unwritten.append(line)
        return _IN_MEMORY + len(self._unwritten) - 1, _IN_MEMORY + len(self._unwritten)


def journal_of(record: Path) -> Path:
    """Return the path of the journal next to *record*."""
    return record.with_name(record.name + SUFFIX)


def grade_with_journal(
    course: Course,
    submissions: LazySubmissions,
    journal: Journal,
    *,
    isolation: str | None = None,
    jobs: int | None = None,
    on_done: Callable[[], object] = lambda: None,
    grade_each: Callable[..., Results] | None = None,
) -> Results:
    """Grade the *submissions* whose results are not in *journal*; return all results.

    The results are read from the journal, which must stay open while they are used. They differ
    from those of ``grade.grade`` only in the times. *grade_each* is by default
    ``grade.grade_each``; any other function, such as ``cluster.grade_each``, needs no isolation on
    this machine.
    """
    asked = isolation or course.grading.isolation
    level = asked if grade_each else choose_isolation(asked, course.root)
    provenance = Provenance(course, level)
    if journal.fresh:
        outlines = submissions.outlines()
        journal.forget({(identifier(one.student), identifier(one.stage)) for one in outlines})
    found = _Found(journal, submissions, provenance)
    for _ in range(len(submissions) - len(found.left)):
        on_done()

    def keep(index: int, result: SubmissionResult) -> None:
        found.add(left[index], result)
        on_done()

    if left := found.left:
        from autograder.grading import grade as local  # noqa: PLC0415  # imports torch

        grade = grade_each or local.grade_each
        grade(course, submissions.subset(left), keep, isolation=level, jobs=jobs)
    found.tidy()
    stored = StoredResults(journal.read, found.places(), journal.file or "The temporary journal")
    return replace(provenance.record(()), submissions=stored)


class _Found:
    """The places in *journal* of the results of *submissions*, as far as they are known."""

    def __init__(
        self, journal: Journal, submissions: LazySubmissions, provenance: Provenance
    ) -> None:
        self._journal = journal
        self._submissions = submissions
        self._edges = array("Q", bytes(16 * len(submissions)))  # the begin and end of each result
        self._others: list[Place] = []  # lines that belong to no submission of this run
        self._failed: set[int] = set()  # submissions without a grade
        outlines = enumerate(submissions.outlines())
        keys = ((provenance.key(one.stage, one.digest), index) for index, one in outlines)
        held = ((one.audit.key, place) for one, place in journal.results() if one.audit)
        for _, index, place in matched(keys, held):
            if index is not None and place is not None:
                self._set(index, place)
            elif place is not None:
                self._others.append(place)

    @property
    def left(self) -> "array[int]":
        """The indices of the submissions that have no result yet."""
        ends = enumerate(self._edges[1::2])
        return array("L", (index for index, end in ends if not end))

    def places(self) -> Iterator[Place]:
        """Yield the place of each result."""
        edges = iter(self._edges)
        return zip(edges, edges, strict=True)

    def add(self, index: int, result: SubmissionResult) -> None:
        """Write the result of a submission to the journal."""
        self._set(index, self._journal.add(result))
        if result.status is Status.GRADER_ERROR:
            self._failed.add(index)

    def tidy(self) -> None:
        """Remove outdated lines of the students of this run, if most lines are outdated."""
        others: dict[tuple[str, str], list[Place]] = {}
        for place, text in zip(self._others, self._journal.read(self._others), strict=True):
            one = msgspec.json.decode(text, type=SubmissionScore)
            others.setdefault(one.key, []).append(place)
        for outline in self._submissions.outlines():
            others.pop((outline.student, outline.stage), None)
        kept = [place for places in others.values() for place in places]
        own = (place for index, place in enumerate(self.places()) if index not in self._failed)
        count = len(self._submissions) - len(self._failed) + len(kept)
        self._journal.tidy(count, chain(own, kept))

    def _set(self, index: int, place: Place) -> None:
        self._edges[2 * index], self._edges[2 * index + 1] = place
