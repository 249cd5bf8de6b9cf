"""The submissions of a class of any size: each is read when its turn comes, and not kept."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Self, overload

import msgspec

from autograder.errors import UsageError
from autograder.submission.assemble import Submission
from autograder.submission.collect import Found

Change = Callable[[Submission], Submission]


class SubmissionOutline(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a submission without its bytes."""

    student: str
    stage: str
    digest: str
    has_code: bool
    is_late: bool


class _Row(msgspec.Struct, frozen=True):
    """Where a submission is read from: it is the only one of its stage in the hand-in."""

    place: Found
    number: int  # of the hand-in
    outline: SubmissionOutline


class LazySubmissions(Sequence[Submission]):
    """The submissions of several places, in order; making it reads each once."""

    def __init__(
        self, rows: Iterable[_Row], change: Change = lambda submission: submission
    ) -> None:
        self._rows = tuple(rows)
        self._change = change
        self._last: tuple[_Row, list[Submission]] | None = None

    @classmethod
    def of(cls, places: Iterable[Found]) -> Self:
        """List the submissions of *places*."""
        return cls(
            _Row(place, number, _outline(submission))
            for place in places
            for number, hand_in in enumerate(place.hand_ins)
            for submission in place.submissions_of(hand_in)
        )

    def outlines(self) -> Iterator[SubmissionOutline]:
        """Yield what is known of each submission without reading it again."""
        return (row.outline for row in self._rows)

    def subset(self, indices: Iterable[int]) -> "LazySubmissions":
        """Return the submissions at *indices* only."""
        return LazySubmissions((self._rows[index] for index in indices), self._change)

    def changed_by(self, change: Change) -> "LazySubmissions":
        """Return the same submissions, to which *change* is applied whenever one is read."""
        return LazySubmissions(self._rows, change)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Submission: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Submission]: ...

    def __getitem__(self, index: int | slice) -> Submission | Sequence[Submission]:
        """Read a submission; raises ``UsageError`` if it is no longer what it was."""
        if isinstance(index, slice):
            return LazySubmissions(self._rows[index], self._change)
        row = self._rows[index]
        for submission in self._read(row):
            outline = _outline(submission)
            if outline.stage == row.outline.stage and outline.has_code == row.outline.has_code:
                return self._change(submission)
        who = " ".join(filter(None, [row.outline.student, row.outline.stage]))
        msg = f"The files of {who} changed while the class was graded. Run the same command again."
        raise UsageError(msg)

    def _read(self, row: _Row) -> list[Submission]:
        """Read the hand-in of *row*; the last one is kept, as it may have many stages."""
        last = self._last
        if last is None or last[0].place is not row.place or last[0].number != row.number:
            hand_in = row.place.hand_ins[row.number]
            self._last = last = row, list(row.place.submissions_of(hand_in))
        return last[1]


def stages_with_code(submissions: Sequence[Submission]) -> set[str]:
    """Name the stages that code was handed in for, without reading lazy submissions again."""
    if isinstance(submissions, LazySubmissions):
        return {outline.stage for outline in submissions.outlines() if outline.has_code}
    return {submission.stage for submission in submissions if submission.code is not None}


def _outline(submission: Submission) -> SubmissionOutline:
    return SubmissionOutline(
        student=submission.student,
        stage=submission.stage,
        digest=submission.digest,
        has_code=submission.code is not None,
        is_late=submission.is_late,
    )
