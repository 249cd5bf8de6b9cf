"""Reads a course's own sentences about mistakes, for example in another language.

``sentences.toml`` next to the hidden suites is for all stages, and the one in the folder of a suite
for one stage. A table is named after a kind of mistake or a misconception.
"""

from pathlib import Path
from typing import Final

import msgspec

from autograder.course import Stage
from autograder.course_file import read_toml
from autograder.diagnosis.mistakes.kinds import KINDS
from autograder.errors import CourseError

FILE: Final = "sentences.toml"


class OwnSentence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sentences about one mistake; an empty one stays as it is. A kind may be turned *off*."""

    explanation: str = ""
    question: str = ""
    title: str = ""
    off: bool = False


def of_kinds(stage: Stage) -> dict[str, tuple[str, str] | None]:
    """Return the explanation and the question of each reworded kind; None if it is off.

    Raises ``CourseError`` for a kind without both.
    """
    found: dict[str, tuple[str, str] | None] = {}
    for path in (stage.hidden.parent / FILE, stage.hidden / FILE):
        for name, own in _read(path).items():
            if name not in KINDS and path.parent == stage.hidden:
                continue  # a misconception
            if name not in KINDS:
                msg = f"{path}: there is no kind of mistake {name!r}."
                raise CourseError(msg)
            if not own.off and not (own.explanation and own.question):
                msg = f"{path}: {name} needs an explanation and a question, or `off = true`."
                raise CourseError(msg)
            found[name] = None if own.off else (own.explanation, own.question)
    return found


def of_misconceptions(folder: Path, ids: list[str]) -> dict[str, OwnSentence]:
    """Return the sentences about the misconceptions *ids* of the suite in *folder*.

    Raises ``CourseError`` for a name that is neither a kind nor one of *ids*.
    """
    path = folder / FILE
    own = _read(path)
    for name, one in own.items():
        if name not in KINDS and (name not in ids or one.off):
            msg = (
                f"{path}: there is no kind of mistake and no misconception {name!r} that can be "
                "reworded so. `autograder diagnose` shows the names, and docs/author.md the keys."
            )
            raise CourseError(msg)
    return {name: one for name, one in own.items() if name in ids}


def _read(path: Path) -> dict[str, OwnSentence]:
    return read_toml(path, dict[str, OwnSentence]) if path.is_file() else {}
