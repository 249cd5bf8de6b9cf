"""Remembers in a learner's folder from which course it was made, and what `start` has not copied.

The file may be deleted, edited or damaged: then nothing is remembered.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from autograder.disk import replace_file

FILE: Final = "course.json"


def remember(folder: Path, course: Path) -> None:
    """Note in *folder* that its files come from *course*."""
    _write(folder, {"course": str(course)})


def remembered(folder: Path) -> Path | None:
    """Return the course of *folder*; None if it is unknown or no longer there."""
    course = _read(folder).get("course")
    return Path(course) if course and Path(course).is_dir() else None


def is_news(folder: Path, newer: Iterable[Path]) -> bool:
    """Whether the files *newer* differ from those of the last call, which is noted."""
    total = hashlib.sha256()
    for file in newer:
        total.update(f"\n{file}:".encode() + file.read_bytes())
    found = _read(folder)
    told, found["told"] = found.get("told"), total.hexdigest()
    if told == found["told"]:
        return False
    with contextlib.suppress(OSError):  # a folder that can't be written hears it again
        _write(folder, found)
    return True


def _read(folder: Path) -> dict[str, str]:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = json.loads((folder / FILE).read_bytes())
        if isinstance(found, dict):
            return {key: value for key, value in found.items() if isinstance(value, str)}
    return {}


def _write(folder: Path, found: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / FILE, f"{json.dumps(found, indent=2)}\n".encode())
