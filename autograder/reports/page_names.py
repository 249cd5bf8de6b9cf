"""Gives students' pages unique file names that are valid on every file system."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from typing import Final, Protocol

MAX_NAME: Final = 60  # characters of student and of stage; some systems allow 143 bytes


class _Named(Protocol):
    """An object with a student and a stage, which has a page."""

    @property
    def student(self) -> str: ...

    @property
    def stage(self) -> str: ...


class PageNames:
    """The names of the pages of *submissions*; only numbers that make names unique are stored."""

    def __init__(self, submissions: Iterable[_Named]) -> None:
        self._numbers: dict[int, int] = {}  # by index, for submissions whose name was already used
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
    """Return an 8-byte hash of *name* without case, because some systems ignore case."""
    return int.from_bytes(hashlib.sha256(name.lower().encode()).digest()[:8], "big")


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "-", plain)[:MAX_NAME].strip("-")
