"""Reads the submissions of a class one at a time, so that a class's code is never all in memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Self, overload

import msgspec

from autograder.errors import UsageError
from autograder.submission.assemble import Submission
from autograder.submission.class_division import FoundSubmissions
from autograder.submission.files import StudentWork

Change = Callable[[Submission], Submission]


class SubmissionOutline(msgspec.Struct, frozen=True, kw_only=True):
    """The data about a submission that does not need its bytes."""

    student: str
    stage: str
    digest: str
    has_code: bool
    is_late: bool

    @classmethod
    def of(cls, submission: Submission) -> Self:
        """Return the outline of *submission*."""
        return cls(
            student=submission.student,
            stage=submission.stage,
            digest=submission.digest,
            has_code=submission.code is not None,
            is_late=submission.is_late,
        )


class _Row(msgspec.Struct, frozen=True):
    """A submission, which is read again from the files of its student."""

    place: FoundSubmissions
    work: StudentWork
    outline: SubmissionOutline


class LazySubmissions(Sequence[Submission]):
    """The submissions of several places, in order; ``of`` reads each of them once."""

    def __init__(
        self, rows: Sequence[_Row], change: Change = lambda submission: submission
    ) -> None:
        self._rows = rows
        self._change = change
        self._last: tuple[StudentWork | None, list[Submission]] = None, []

    @classmethod
    def of(cls, places: Iterable[FoundSubmissions]) -> Self:
        """List the submissions of *places*."""
        return cls(
            [
                _Row(place, work, SubmissionOutline.of(submission))
                for place in places
                for work in place.works
                for submission in place.submissions_to_grade(work)
            ]
        )

    def outlines(self) -> Iterator[SubmissionOutline]:
        """Yield the outline of each submission without reading it again."""
        return (row.outline for row in self._rows)

    def subset(self, indices: Iterable[int]) -> "LazySubmissions":
        """Return only the submissions at *indices*."""
        return LazySubmissions([self._rows[index] for index in indices], self._change)

    def changed_by(self, change: Change) -> "LazySubmissions":
        """Return the same submissions; *change* is applied to each when it is read."""
        return LazySubmissions(self._rows, change)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Submission: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Submission]: ...

    def __getitem__(self, index: int | slice) -> Submission | Sequence[Submission]:
        """Read a submission; raise ``UsageError`` if its files have changed."""
        if isinstance(index, slice):
            return LazySubmissions(self._rows[index], self._change)
        row = self._rows[index]
        known = row.outline
        for submission in self._read(row):
            if submission.stage == known.stage and (submission.code is not None) == known.has_code:
                return self._change(submission)
        who = " ".join(filter(None, [known.student, known.stage]))
        msg = f"The files of {who} changed while the class was graded. Run the same command again."
        raise UsageError(msg)

    def _read(self, row: _Row) -> list[Submission]:
        """Read all submissions of the student of *row*, and keep them for the other stages."""
        if self._last[0] is not row.work:
            self._last = row.work, list(row.place.submissions_to_grade(row.work))
        return self._last[1]


def stages_with_code(submissions: Sequence[Submission]) -> set[str]:
    """Return the stages for which code was submitted, without reading lazy submissions again."""
    if isinstance(submissions, LazySubmissions):
        return {outline.stage for outline in submissions.outlines() if outline.has_code}
    return {submission.stage for submission in submissions if submission.code is not None}
