"""Gives students' pages unique file names that are valid on every file system."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import Final, Protocol

from autograder.sanitize import identifier

MAX_NAME: Final = 60  # characters of student and of stage; some systems allow 143 bytes


class StudentAndStage(Protocol):
    """A result, a score or the outline of a submission."""

    @property
    def student(self) -> str:
        """The id of the student."""

    @property
    def stage(self) -> str:
        """The name of the stage."""


def page_names(submissions: Iterable[StudentAndStage]) -> list[str]:
    """Return the name of each submission's page; a number tells equal names apart."""
    names = []
    taken: Counter[str] = Counter()  # without case, because some systems ignore case
    for one in submissions:
        stem = f"{_slug(identifier(one.student)) or 'student'}--{_slug(one.stage) or 'no-stage'}"
        name = stem
        while taken[name.lower()]:
            taken[stem.lower()] += 1
            name = f"{stem}-{taken[stem.lower()]}"
        taken[name.lower()] += 1
        names.append(f"{name}.html")
    return names


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "-", plain)[:MAX_NAME].strip("-")
