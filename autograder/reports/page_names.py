"""File names of feedback pages."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from autograder.results import SubmissionResult

MAX_NAME: Final = 60  # of a student and of a stage: some systems end names at 143 bytes


def page_names(submissions: Iterable[SubmissionResult]) -> tuple[str, ...]:
    """Name the page of each submission: safe on every file system, and no two alike."""
    taken: set[str] = set()
    names = []
    for result in submissions:
        stem = f"{_slug(result.student) or 'student'}--{_slug(result.stage) or 'no-stage'}"
        name, number = stem, 1
        while name.lower() in taken:  # macOS and Windows do not tell Ada from ada
            number += 1
            name = f"{stem}-{number}"
        taken.add(name.lower())
        names.append(f"{name}.html")
    return tuple(names)


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text[: 8 * MAX_NAME]).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "-", plain)[:MAX_NAME].strip("-")
