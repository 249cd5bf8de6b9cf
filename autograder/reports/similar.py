"""Groups of students whose code is the same, or the same but for names and comments.

It compares digests of the record and nothing else, and never says who wrote the code first, or
that anybody copied: short exercises have few right answers.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import msgspec

from autograder.results import Status, SubmissionResult

MAX_GROUPS: Final = 50  # of one stage; more are a sign that its answers are short
_UNWRITTEN: Final = frozenset((Status.OK, Status.NOT_IMPLEMENTED, Status.MISSING))


class SimilarGroup(msgspec.Struct, frozen=True):
    """Rows of the class report by file: those in one list handed in the same bytes.

    *full* says that all of them have full marks, as right answers of short exercises often do.
    """

    files: tuple[tuple[int, ...], ...]
    full: bool

    @property
    def size(self) -> int:
        """How many submissions there are."""
        return sum(map(len, self.files))

    @property
    def same_file(self) -> bool:
        """Whether all of them are the same bytes."""
        return len(self.files) == 1


def similar_groups(submissions: Iterable[SubmissionResult]) -> list[SimilarGroup]:
    """Group the submissions of one stage, by their indices; wrong code first, then by size.

    Code in which nothing was written yet is left out: it is the released stub.
    """
    known = list(submissions)
    found: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, result in enumerate(known):
        if result.sha256 and _is_written(result):
            found[result.syntax_sha256 or result.sha256][result.sha256].append(index)
    groups = []
    for files in found.values():
        members = [known[index] for indices in files.values() for index in indices]
        if len({member.student for member in members}) > 1:
            full = all(item.max_score and item.score == item.max_score for item in members)
            groups.append(SimilarGroup(tuple(map(tuple, files.values())), full))
    return sorted(groups, key=lambda group: (group.full, -group.size))[:MAX_GROUPS]


def _is_written(result: SubmissionResult) -> bool:
    """Whether anything ended in another way than in a stub."""
    checks = [check for exercise in result.exercises for check in exercise.checks]
    return bool(result.score) or not checks or any(c.status not in _UNWRITTEN for c in checks)
