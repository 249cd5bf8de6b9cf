"""Reads results from disk one at a time, so that a class of any size fits in memory."""

import copy
from abc import abstractmethod
from array import array
from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Generic, Self, TypeVar, overload

import msgspec
from msgspec.structs import force_setattr, replace

from autograder.errors import UsageError
from autograder.results import Results, Status, SubmissionResult, from_json
from autograder.sanitize import identifier

MAX_CHANGES: Final = 50  # the most changes named after a regrade; the class report lists all
_OPENS: Final = b"    {\n"  # the first line of a submission in a record
_CLOSES: Final = (b"    },\n", b"    }\n")
_Key = TypeVar("_Key", bound=Hashable)
_Old = TypeVar("_Old")
_New = TypeVar("_New")
_Row = TypeVar("_Row")
_Item = TypeVar("_Item")


class LazySequence(Sequence[_Item], Generic[_Row, _Item]):
    """Items of which each is read from its row when it is needed; a slice is lazy, too."""

    def __init__(self, rows: Sequence[_Row]) -> None:
        self._rows = rows

    @abstractmethod
    def read(self, row: _Row) -> _Item:
        """Read the item of *row*."""

    def with_rows(self, rows: Sequence[_Row]) -> Self:
        """Return the items of other *rows*, read in the same way."""
        other = copy.copy(self)
        other._rows = rows  # noqa: SLF001  # of the same class
        return other

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> _Item: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: int | slice) -> _Item | Self:
        """Return one item, or a lazy sequence of several."""
        if isinstance(index, slice):
            return self.with_rows(self._rows[index])
        return self.read(self._rows[index])


class SubmissionScore(msgspec.Struct, frozen=True):
    """Decodes only the student, the stage, the score and the status of a result."""

    student: str
    stage: str
    score: float | None
    status: Status

    def __post_init__(self) -> None:
        force_setattr(self, "student", identifier(self.student) or "(no name)")
        force_setattr(self, "stage", identifier(self.stage))

    @property
    def key(self) -> tuple[str, str]:
        """The student and the stage of the score."""
        return self.student, self.stage


Place = tuple[int, int]  # the start and the end of a result's JSON in its file
Read = Callable[[Iterable[Place]], Iterator[bytes]]
_Struct = TypeVar("_Struct", SubmissionResult, SubmissionScore)


class StoredResults(LazySequence[int, SubmissionResult]):
    """Reads results from *places* in *file* by *read*, or raises ``UsageError`` when one is bad."""

    def __init__(self, read: Read, places: Iterable[Place], file: object) -> None:
        self._read_places = read
        self._edges = array("Q", (edge for place in places for edge in place))
        self._file = file
        super().__init__(range(len(self._edges) // 2))

    def __iter__(self) -> Iterator[SubmissionResult]:
        return self._read(self._rows, SubmissionResult)

    def read(self, row: int) -> SubmissionResult:
        """Read the result at the place number *row*."""
        return next(self._read([row], SubmissionResult))

    def scores(self) -> Iterator[SubmissionScore]:
        """Yield only the scores, in a tenth of the time."""
        return self._read(self._rows, SubmissionScore)

    def _place(self, index: int) -> Place:
        return self._edges[2 * index], self._edges[2 * index + 1]

    def _read(self, indices: Iterable[int], type_: type[_Struct]) -> Iterator[_Struct]:
        try:
            for text in self._read_places(map(self._place, indices)):
                yield msgspec.json.decode(text, type=type_)
        except OSError as error:
            raise _unreadable(self._file, error) from error
        except msgspec.MsgspecError as error:
            raise _damaged(self._file, error) from error


def read_record(file: Path) -> Results:
    """Read the record in *file*; raise ``UsageError`` if it is invalid, now or when it is used.

    If the record is laid out as ``results.to_json`` writes it, only one result is in memory at a
    time. Otherwise all results are.
    """
    edges = array("Q")
    try:
        with file.open("rb") as lines:
            results = from_json(b"".join(_next_to_submissions(lines, edges)))
    except OSError as error:
        raise _unreadable(file, error) from error
    except msgspec.MsgspecError as error:
        raise _damaged(file, error) from error
    if not edges:
        return results
    each = iter(edges)
    stored = StoredResults(partial(_read_parts, file), zip(each, each, strict=True), file)
    return replace(results, submissions=stored)


def _next_to_submissions(lines: Iterable[bytes], edges: "array[int]") -> Iterator[bytes]:
    """Yield the lines outside submissions; append each submission's start and end to *edges*."""
    at = 0
    for line in lines:
        is_inside = len(edges) % 2
        if line == _OPENS and not is_inside:
            edges.append(at)
        elif is_inside and line in _CLOSES:
            edges.append(at + len(_CLOSES[1]) - 1)
        elif not is_inside:
            yield line
        at += len(line)
    if len(edges) % 2:  # the record was cut off
        yield _OPENS


def _read_parts(file: Path, places: Iterable[Place]) -> Iterator[bytes]:
    with file.open("rb") as stream:
        for begin, end in places:
            stream.seek(begin)
            yield stream.read(end - begin)


def _unreadable(file: object, error: OSError) -> UsageError:
    return UsageError(f"{file} can't be read: {error.strerror}.")


def _damaged(file: object, error: msgspec.MsgspecError) -> UsageError:
    return UsageError(f"{file} is not a record of `autograder grade --json`: {error}.")


class ScoreChanges:
    """Counts scores, or other *what*, that differ from earlier ones, and lists the first."""

    def __init__(self, what: str = "score") -> None:
        self._what = what
        self._compared = 0
        self._changed = 0
        self._named: list[tuple[str, str, float, float]] = []

    def add(self, student: str, stage: str, before: float | None, after: float | None) -> None:
        """Compare two scores of *student* in *stage*; if one is None, do nothing."""
        if before is None or after is None:
            return
        self._compared += 1
        if before != after:
            self._changed += 1
            insort(self._named, (student, stage, before, after))
            del self._named[MAX_CHANGES:]

    @property
    def are_any(self) -> bool:
        """Whether a score changed."""
        return self._changed > 0

    def __str__(self) -> str:
        """Return one line on the scores that changed, or "" if no scores were compared."""
        if not self._compared:
            return ""
        named = [
            f"{student}, {stage}: {before:g} → {after:g} ({after - before:+g})"
            for student, stage, before, after in self._named
        ]
        more = self._changed - len(named)
        listing = "; ".join([*named, *([f"{more} more"] if more else [])])
        count = f"{self._changed} of {self._compared} earlier {self._what}s changed"
        return f"{count}{': ' if listing else ''}{listing}."


def score_changes(old: Results, new: Results) -> ScoreChanges:
    """Compare the scores of two records."""
    changes = ScoreChanges()
    before, after = (((one.key, one.score) for one in scores_of(run)) for run in (old, new))
    for key, earlier, later in matched(before, after):
        changes.add(*key, earlier, later)
    return changes


def scores_of(results: Results) -> Iterator[SubmissionScore]:
    """Yield each score, including those of submissions without a grade."""
    found = results.submissions
    if isinstance(found, StoredResults):
        yield from found.scores()
    else:
        for one in found:
            yield SubmissionScore(one.student, one.stage, one.score, one.status)


def matched(
    old: Iterable[tuple[_Key, _Old]], new: Iterable[tuple[_Key, _New]]
) -> Iterator[tuple[_Key, _Old | None, _New | None]]:
    """Yield each key with its values in *old* and *new*, or None for a list without the key.

    Equal keys in one list are matched with different entries of the other.
    """
    waiting: dict[_Key, list[_Old]] = defaultdict(list)
    for key, value in old:
        waiting[key].append(value)
    for key, later in new:
        yield key, waiting[key].pop(0) if waiting.get(key) else None, later
    yield from ((key, value, None) for key, values in waiting.items() for value in values)
