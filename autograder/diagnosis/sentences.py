"""Reads the sentences for students from the TOML files of this package.

A table of such a file is one entry. An unknown key, a missing sentence and an unknown placeholder
are refused when the file is read, so that no student sees such an error.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import Annotated, Any, TypeVar

import msgspec

from autograder.course_file import read_toml
from autograder.errors import CourseError

Sentence = Annotated[str, msgspec.Meta(min_length=1)]


class TextEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table of a file of sentences."""


E = TypeVar("E", bound=TextEntry)


def read_entries(path: Path, kind: type[E]) -> Iterator[tuple[str, E]]:
    """Yield the entries of *path* with their names; several tables may have the same name.

    Raises ``CourseError`` with the file and the entry.
    """
    for name, tables in read_toml(path, dict[str, Any]).items():
        for table in tables if isinstance(tables, list) else [tables]:
            try:
                yield name, msgspec.convert(table, kind)
            except msgspec.ValidationError as error:
                msg = f"{path}, entry {name}: {error}."
                raise CourseError(msg) from error


def fill(sentence: str, words: Mapping[str, object], entry: str) -> str:
    """Fill the placeholders in *sentence*; raise ``CourseError`` if *words* lacks one of them."""
    try:
        return sentence.format_map(words)
    except KeyError as error:
        msg = f"The sentence of entry {entry} has the placeholder {error}, but gets no word for it."
        raise CourseError(msg) from error


def require_placeholders(sentences: Iterable[str], known: Collection[str]) -> None:
    """Raise ``ValueError`` if a sentence has a placeholder that is not *known*."""
    for sentence in sentences:
        for _, word, _, _ in Formatter().parse(sentence):
            if word is not None and word not in known:
                msg = f"unknown placeholder {{{word}}} in {sentence!r}"
                raise ValueError(msg)
