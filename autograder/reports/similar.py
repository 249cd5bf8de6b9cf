"""Lists submissions with equal files, and the pairs with similar code that compare50 has found.

The words never say that students copied, because short exercises have few correct answers.
"""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from autograder.errors import GraderError
from autograder.results import Status, SubmissionResult

MAX_GROUPS: Final = 50  # in one stage; more groups mean that its answers are short
OPEN_PAIRS: Final = 10  # shown in the class report; compare50's own page lists all
COPIES: Final = "copies"  # in the folder of the report; holds compare50's pages of each stage
INDEX: Final = "index.html"
_UNWRITTEN: Final = frozenset((Status.OK, Status.NOT_IMPLEMENTED, Status.MISSING))
_PAIRS: Final = re.compile(r"var GRAPH = (\{.*\});")


class SameFile(msgspec.Struct, frozen=True):
    """Rows with equal files, one for each student; *full* marks are common for short exercises."""

    rows: tuple[int, ...]
    full: bool


class SameFiles:
    """Collects the digests of the files of one stage, without unwritten code."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, int]] = defaultdict(dict)
        self._full: set[str] = set()

    def add(self, row: int, result: SubmissionResult) -> None:
        """Add the submission in *row*."""
        if result.sha256 and _is_written(result):
            self._rows[result.sha256][result.student] = row
            self._full |= {result.sha256} if result.score == result.max_score else set()

    def groups(self) -> list[SameFile]:
        """Return the groups of students, those with wrong code first, then by size."""
        groups = [
            SameFile(tuple(rows.values()), full=file in self._full)
            for file, rows in self._rows.items()
            if len(rows) > 1
        ]
        return sorted(groups, key=lambda group: (group.full, -len(group.rows)))[:MAX_GROUPS]


def _is_written(result: SubmissionResult) -> bool:
    """Whether some check ended differently than on a stub."""
    checks = [check for exercise in result.exercises for check in exercise.checks]
    return bool(result.score) or not checks or any(c.status not in _UNWRITTEN for c in checks)


class SimilarPair(NamedTuple):
    """Two students with similar code; *score* is at most 10, and *page* shows the shared lines."""

    one: str
    other: str
    score: float
    page: str


def similar_pairs(folder: Path) -> list[SimilarPair]:
    """Return compare50's pairs in *folder*, if any; raise ``GraderError`` for an unknown form."""
    file = folder / INDEX
    if not file.is_file():
        return []
    found = _PAIRS.search(file.read_text("utf-8", "replace"))
    try:
        links = json.loads(found[1] if found else "")["links"]
        pairs = [
            SimilarPair(
                _student(one["source"]),
                _student(one["target"]),
                float(one["value"]),
                f"match_{one['index'] + 1}.html",
            )
            for one in links
        ]
    except (ValueError, KeyError, TypeError):
        msg = f"{file} does not have the form of compare50 1.2. Open it in a browser, or delete it."
        raise GraderError(msg) from None
    return sorted(pairs, key=lambda pair: (-pair.score, pair.one, pair.other))


def _student(folder: str) -> str:
    """Return the student in the name of a compared folder, which begins with a number."""
    return folder.partition(" ")[2].partition("/")[0]
