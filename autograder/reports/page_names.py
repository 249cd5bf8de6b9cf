"""Names students' pages: valid on every file system, and unique."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from typing import Final, Protocol

MAX_NAME: Final = 60  # of a student and of a stage: some systems end names at 143 bytes


class _Named(Protocol):
    """The subject of a page."""

    @property
    def student(self) -> str: ...

    @property
    def stage(self) -> str: ...


class PageNames:
    """The names of the pages of *submissions*; only the parts that make them differ are kept."""

    def __init__(self, submissions: Iterable[_Named]) -> None:
        self._numbers: dict[int, int] = {}  # of those whose name was taken
        taken: set[int] = set()
        for index, one in enumerate(submissions):
            number = 1
            while (name := _short(_name(one, number))) in taken:
                number += 1
            taken.add(name)
            if number > 1:
                self._numbers[index] = number

    def of(self, index: int, submission: _Named) -> str:
        """Return the name of the page of the submission at *index*."""
        return f"{_name(submission, self._numbers.get(index, 1))}.html"


def _name(submission: _Named, number: int) -> str:
    stem = f"{_slug(submission.student) or 'student'}--{_slug(submission.stage) or 'no-stage'}"
    return f"{stem}-{number}" if number > 1 else stem


def _short(name: str) -> int:
    """Return eight bytes for *name*: macOS and Windows treat Ada and ada as one name."""
    return int.from_bytes(hashlib.sha256(name.lower().encode()).digest()[:8], "big")


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "-", plain)[:MAX_NAME].strip("-")
