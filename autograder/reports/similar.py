"""Groups students whose code is the same, or differs only in names and comments.

Only digests in the record are compared. The result is never called copying, because short exercises
have few correct answers.
"""

import hashlib
from array import array
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
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
    """Collects digests of the code of one stage, eight bytes each, without unwritten code."""

    def __init__(self) -> None:
        self._digests = array("Q")
        self._indices = array("L")

    def add(self, index: int, result: SubmissionResult) -> None:
        """Add the submission in row *index*."""
        if result.sha256 and _is_written(result):
            self._digests.append(_short(result))
            self._indices.append(index)

    def groups(self, result_of: Callable[[int], SubmissionResult]) -> list[SimilarGroup]:
        """Return the groups, those with wrong code first, then by size; results are read again."""
        shared = {one for one, other in pairwise(sorted(self._digests)) if one == other}
        found: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        students: dict[str, set[str]] = defaultdict(set)
        wrong = set()
        for index, digest in zip(self._indices, self._digests, strict=True):
            if digest in shared:
                result = result_of(index)
                code = result.syntax_sha256 or result.sha256
                found[code][result.sha256].append(index)
                students[code].add(result.student)
                wrong |= set() if _is_full(result) else {code}
        groups = [
            SimilarGroup(tuple(map(tuple, files.values())), full=code not in wrong)
            for code, files in found.items()
            if len(students[code]) > 1
        ]
        return sorted(groups, key=lambda group: (group.full, -group.size))[:MAX_GROUPS]


def _short(result: SubmissionResult) -> int:
    """Return eight bytes of a digest of the code, which distinguish most submissions."""
    code = result.syntax_sha256 or result.sha256
    return int.from_bytes(hashlib.sha256(code.encode()).digest()[:8], "big")


def _is_full(result: SubmissionResult) -> bool:
    return bool(result.max_score) and result.score == result.max_score


def _is_written(result: SubmissionResult) -> bool:
    """Whether some check ended differently than on a stub."""
    checks = [check for exercise in result.exercises for check in exercise.checks]
    return bool(result.score) or not checks or any(c.status not in _UNWRITTEN for c in checks)
