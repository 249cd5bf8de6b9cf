"""Reads the submissions of a class one at a time, without keeping them in memory."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Self, overload

import msgspec

from autograder.errors import UsageError
from autograder.submission.assemble import Submission
from autograder.submission.class_division import FoundSubmissions

_DIGEST: Final = 32  # bytes
_HAS_CODE: Final = 2
Change = Callable[[Submission], Submission]


class SubmissionOutline(msgspec.Struct, frozen=True, kw_only=True):
    """The data about a submission that does not need its bytes."""

    student: str
    stage: str
    digest: str
    has_code: bool
    is_late: bool


class _Rows:
    """The place and the outline of each submission, in a few hundred bytes each."""

    def __init__(self, places: Iterable[FoundSubmissions]) -> None:
        self._places = tuple(places)
        self._works = array("L")  # for each: number of the place, number of the student there
        self._students: list[str] = []
        self._stages: list[str] = []
        self._digests = bytearray()
        self._flags = bytearray()
        for at, place in enumerate(self._places):
            for number, work in enumerate(place.works):
                for submission in place.submissions_to_grade(work):
                    self._works.extend((at, number))
                    self._add(submission)

    def __len__(self) -> int:
        return len(self._students)

    def _add(self, submission: Submission) -> None:
        self._students.append(submission.student)
        self._stages.append(submission.stage)
        self._digests += bytes.fromhex(submission.digest)
        self._flags.append(_HAS_CODE * (submission.code is not None) | submission.is_late)

    def outline(self, row: int) -> SubmissionOutline:
        """Return the outline of the submission *row*."""
        return SubmissionOutline(
            student=self._students[row],
            stage=self._stages[row],
            digest=self._digests[_DIGEST * row : _DIGEST * (row + 1)].hex(),
            has_code=bool(self._flags[row] & _HAS_CODE),
            is_late=bool(self._flags[row] & ~_HAS_CODE),
        )

    def work(self, row: int) -> tuple[FoundSubmissions, int]:
        """Return the place of the submission *row*, and the number of the student there."""
        return self._places[self._works[2 * row]], self._works[2 * row + 1]


class LazySubmissions(Sequence[Submission]):
    """The submissions of several places, in order; ``of`` reads each of them once."""

    def __init__(
        self,
        rows: _Rows,
        indices: Sequence[int],
        change: Change = lambda submission: submission,
    ) -> None:
        self._rows = rows
        self._indices = indices
        self._change = change
        self._last: tuple[tuple[FoundSubmissions, int], list[Submission]] | None = None

    @classmethod
    def of(cls, places: Iterable[FoundSubmissions]) -> Self:
        """List the submissions of *places*."""
        rows = _Rows(places)
        return cls(rows, range(len(rows)))

    def outlines(self) -> Iterator[SubmissionOutline]:
        """Yield the outline of each submission without reading it again."""
        return map(self._rows.outline, self._indices)

    def subset(self, indices: Iterable[int]) -> "LazySubmissions":
        """Return only the submissions at *indices*."""
        chosen = array("L", (self._indices[index] for index in indices))
        return LazySubmissions(self._rows, chosen, self._change)

    def changed_by(self, change: Change) -> "LazySubmissions":
        """Return the same submissions; *change* is applied to each when it is read."""
        return LazySubmissions(self._rows, self._indices, change)

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> Submission: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Submission]: ...

    def __getitem__(self, index: int | slice) -> Submission | Sequence[Submission]:
        """Read a submission; raise ``UsageError`` if its files have changed."""
        if isinstance(index, slice):
            return LazySubmissions(self._rows, self._indices[index], self._change)
        row = self._indices[index]
        known = self._rows.outline(row)
        for submission in self._read(row):
            if submission.stage == known.stage and (submission.code is not None) == known.has_code:
                return self._change(submission)
        who = " ".join(filter(None, [known.student, known.stage]))
        msg = f"The files of {who} changed while the class was graded. Run the same command again."
        raise UsageError(msg)

    def _read(self, row: int) -> list[Submission]:
        """Read all submissions of the student of *row*, and keep them for their other stages."""
        place, number = self._rows.work(row)
        last = self._last
        if last is None or last[0][0] is not place or last[0][1] != number:
            found = list(place.submissions_to_grade(place.works[number]))
            self._last = last = (place, number), found
        return last[1]


def stages_with_code(submissions: Sequence[Submission]) -> set[str]:
    """Return the stages for which code was submitted, without reading lazy submissions again."""
    if isinstance(submissions, LazySubmissions):
        return {outline.stage for outline in submissions.outlines() if outline.has_code}
    return {submission.stage for submission in submissions if submission.code is not None}
