"""Groups students whose code is the same, or differs only in names and comments.

Only digests in the record are compared. The result is never called copying, because short exercises
have few correct answers.
"""

from collections import defaultdict
from typing import Final

import msgspec

from autograder.results import Status, SubmissionResult

MAX_GROUPS: Final = 50  # in one stage; more groups mean that its answers are short
_UNWRITTEN: Final = frozenset((Status.OK, Status.NOT_IMPLEMENTED, Status.MISSING))


class SimilarGroup(msgspec.Struct, frozen=True):
    """Rows of the class report with similar code; each tuple of *files* has rows with equal bytes.

    *full* is true if all of them have full marks, which is common for short exercises.
    """

    files: tuple[tuple[int, ...], ...]
    full: bool

    @property
    def size(self) -> int:
        """The number of submissions."""
        return sum(map(len, self.files))

    @property
    def same_file(self) -> bool:
        """Whether all submissions have the same bytes."""
        return len(self.files) == 1


class SimilarCode:
    """Collects the digests of the code of one stage, without unwritten code."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        self._students: dict[str, set[str]] = defaultdict(set)
        self._wrong: set[str] = set()

    def add(self, row: int, result: SubmissionResult) -> None:
        """Add the submission in *row*."""
        if result.sha256 and _is_written(result):
            code = result.syntax_sha256 or result.sha256
            self._rows[code][result.sha256].append(row)
            self._students[code].add(result.student)
            self._wrong |= set() if _is_full(result) else {code}

    def groups(self) -> list[SimilarGroup]:
        """Return the groups, those with wrong code first, then by size."""
        groups = [
            SimilarGroup(tuple(map(tuple, files.values())), full=code not in self._wrong)
            for code, files in self._rows.items()
            if len(self._students[code]) > 1
        ]
        return sorted(groups, key=lambda group: (group.full, -group.size))[:MAX_GROUPS]


def _is_full(result: SubmissionResult) -> bool:
    return bool(result.max_score) and result.score == result.max_score


def _is_written(result: SubmissionResult) -> bool:
    """Whether some check ended differently than on a stub."""
    checks = [check for exercise in result.exercises for check in exercise.checks]
    return bool(result.score) or not checks or any(c.status not in _UNWRITTEN for c in checks)
