"""Reads and writes the sentences about the recorded mistakes of a stage, ``mistakes.toml``.

The records of a stage name a misconception by its id and a kind of mistake by its key, so that
another wording does not change them. The kit has the sentences of kinds. This file has those that
the author of the stage wrote: of misconceptions, and of kinds that the stage words differently.
"""

import json
from pathlib import Path
from typing import Annotated, Final

import msgspec

from autograder.course import Stage
from autograder.course_file import read_toml
from autograder.diagnosis import misconceptions
from autograder.errors import CourseError, UsageError
from autograder.results import title_of
from autograder.suite.records import RESTORE

HEAD: Final = (
    "# Built by `autograder release`: what students read about the mistakes in records.bin.\n"
)
_Text = Annotated[str, msgspec.Meta(min_length=1)]


class MistakeText(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The sentences about a mistake; without *title*, the first clause is the title.

    *when* and *seen* are the conditions on a student's source (see ``Misconception``). In the file,
    a mistake is one line with these fields.
    """

    explanation: _Text
    question: _Text
    title: str = ""
    when: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The title of the mistake."""
        return self.title or title_of(self.explanation)


class MistakeTexts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sentences of one stage: of its misconceptions, and of the kinds that it words itself."""

    misconceptions: dict[str, MistakeText] = {}
    kinds: dict[str, MistakeText] = {}


def read(path: Path) -> MistakeTexts:
    """Read ``mistakes.toml`` at *path*; raise ``UsageError`` if it is missing or damaged."""
    try:
        return read_toml(path, MistakeTexts)
    except CourseError as error:
        msg = f"{error} {RESTORE}."
        raise UsageError(msg) from None


def of_stage(stage: Stage, recorded: tuple[str, ...]) -> MistakeTexts:
    """Return the sentences of the *recorded* misconceptions of *stage*, and of its kinds."""
    bank = {item.id: item for item in misconceptions.known_in(stage)}
    words = misconceptions.read_operators(stage)
    return MistakeTexts(
        {name: text_of(bank[name]) for name in recorded if name in bank},
        {kind: MistakeText(*said) for kind, said in sorted(words.items()) if said},
    )


def to_toml(texts: MistakeTexts) -> bytes:
    """Encode *texts*, one line for each mistake."""
    lines = [HEAD]
    for name, mistakes in msgspec.to_builtins(texts).items():
        lines.append(f"\n[{name}]\n")
        for mistake, fields in mistakes.items():
            used = max(place for place, value in enumerate(fields, 1) if value)
            lines.append(f"{_quoted(mistake)} = {_quoted(fields[:used])}\n")
    return "".join(lines).encode()


def text_of(item: misconceptions.Misconception) -> MistakeText:
    """Return the sentences of a misconception and the conditions for them."""
    title = "" if item.title == title_of(item.explanation) else item.title
    return MistakeText(item.explanation, item.question, title, item.when, item.seen)


def _quoted(value: object) -> str:
    """Return *value* in the form of TOML, which differs from JSON in one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
