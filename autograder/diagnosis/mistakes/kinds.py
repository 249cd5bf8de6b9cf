"""Reads the sentences about each kind of mistake from ``kinds.toml``."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import field

from autograder.diagnosis.mistakes.vocabulary import capital
from autograder.diagnosis.sentences import (
    Sentence,
    TextEntry,
    fill,
    read_entries,
    require_placeholders,
)
from autograder.errors import CourseError

PLACEHOLDERS: Final = frozenset(
    {"axis", "dtype", "how", "layer", "name", "names", "new", "of", "old", "one", "other"}
    | {"right", "role", "size", "what", "which"}
)


class Wording(NamedTuple):
    """What a student reads about a mistake."""

    explanation: str
    question: str


class KindOfMistake(TextEntry, frozen=True):
    """The sentences of one kind; those of *variants* have placeholders.

    *questions* are those of variants that do not ask the question of the kind. Next to another
    mistake, *unlikely* kinds are tried last.
    """

    explanation: Sentence
    question: Sentence
    unlikely: bool = False
    variants: dict[str, Sentence] = field(default_factory=dict)
    questions: dict[str, Sentence] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ``ValueError``, which the reader of the file expects."""
        require_placeholders((self.explanation, self.question), ())
        require_placeholders((*self.variants.values(), *self.questions.values()), PLACEHOLDERS)
        if unknown := self.questions.keys() - self.variants.keys():
            msg = f"questions of unknown variants: {', '.join(sorted(unknown))}"
            raise ValueError(msg)


KINDS: Final = dict(read_entries(Path(__file__).with_name("kinds.toml"), KindOfMistake))
SIZES: Final = frozenset({"scale_wrong_size", "scale_wrong_power"})  # which may equal one another
UNLIKELY: Final = frozenset(name for name, kind in KINDS.items() if kind.unlikely)


def wording_at(key: str, words: Mapping[str, object]) -> Wording:
    """Return the sentences at *key*, a kind or a kind and its variant, as in "mask_fill.zero"."""
    name, _, variant = key.partition(".")
    kind = KINDS[name]
    explanation = fill(kind.variants[variant] if variant else kind.explanation, words, key)
    question = fill(kind.questions.get(variant, kind.question), words, key)
    return Wording(capital(explanation), question)


def require_known(stage_words: Iterable[str]) -> None:
    """Raise ``CourseError`` if a stage words a kind that there is not."""
    if unknown := set(stage_words) - KINDS.keys():
        msg = f"OPERATORS names unknown kinds of mistake: {', '.join(sorted(unknown))}."
        raise CourseError(msg)


def wording(kind: str, stage_words: Mapping[str, tuple[str, str] | None]) -> Wording | None:
    """Return how a stage words *kind*; ``None`` if it silences it."""
    if kind not in stage_words:
        return wording_at(kind, {})
    words = stage_words[kind]
    return Wording(*words) if words else None
