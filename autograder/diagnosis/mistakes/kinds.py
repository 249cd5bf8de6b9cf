"""Reads the sentences about each kind of mistake from ``kinds.toml``."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import field

from autograder.course_file import Group
from autograder.diagnosis.conditions import require_conditions
from autograder.diagnosis.sentences import (
    Sentence,
    TextEntry,
    fill,
    read_entries,
    require_placeholders,
)
from autograder.diagnosis.vocabulary import capital
from autograder.errors import CourseError

PLACEHOLDERS: Final = frozenset(
    {"axis", "dtype", "how", "layer", "name", "names", "new", "of", "old", "one", "other"}
    | {"right", "role", "size", "what"}
)


class Wording(NamedTuple):
    """The texts about a mistake that a student reads."""

    explanation: str
    question: str


class KindOfMistake(TextEntry, frozen=True):
    """The sentences of one kind; those of *variants* have placeholders.

    A course switches on the groups of kinds that fit its topic.
    *questions* are those of variants that do not ask the question of the kind. Next to another
    mistake, *unlikely* kinds are tried last. Those *in_all* (all variants, or these) agree with
    other mistakes in some checks, so they must explain every wrong answer. An *effect* (all
    variants, or these) of many mistakes is named alone. *when* are the conditions on a student's
    source, and *whens* those of variants with other ones. *plain* and *plains* mention no quantity
    of attention, for exercises that do not have it. *elses* are said of a source that does not
    fulfill the conditions of a variant.
    """

    group: Group
    explanation: Sentence
    question: Sentence
    unlikely: bool = False
    in_all: bool | tuple[str, ...] = False
    effect: bool | tuple[str, ...] = False
    when: tuple[str, ...] = ()
    plain: str = ""
    variants: dict[str, Sentence] = field(default_factory=dict)
    questions: dict[str, Sentence] = field(default_factory=dict)
    whens: dict[str, tuple[str, ...]] = field(default_factory=dict)
    plains: dict[str, Sentence] = field(default_factory=dict)
    elses: dict[str, Sentence] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ``ValueError``, which the reader of the file expects."""
        require_placeholders((self.explanation, self.question), ())
        require_placeholders((*self.variants.values(), *self.questions.values()), PLACEHOLDERS)
        require_conditions([*self.when, *(one for some in self.whens.values() for one in some)])
        keys = self.questions.keys() | self.whens.keys() | self.plains.keys() | self.elses.keys()
        some = [one for one in (self.in_all, self.effect) if isinstance(one, tuple)]
        keys = keys.union(*some)
        if unknown := keys - self.variants.keys():
            msg = f"sentences or conditions of unknown variants: {', '.join(sorted(unknown))}"
            raise ValueError(msg)


KINDS: Final = dict(read_entries(Path(__file__).with_name("kinds.toml"), KindOfMistake))
UNLIKELY: Final = frozenset(name for name, kind in KINDS.items() if kind.unlikely)


def wording_at(key: str, words: Mapping[str, object]) -> Wording:
    """Return the sentences at *key*, a kind or a kind and its variant, as in "mask_fill.zero"."""
    name, _, variant = key.partition(".")
    kind = KINDS.get(name)
    if kind is None or (variant and variant not in kind.variants):
        msg = f"kinds.toml has no kind of mistake {key!r}."
        raise CourseError(msg)
    explanation = fill(kind.variants[variant] if variant else kind.explanation, words, key)
    question = fill(kind.questions.get(variant, kind.question), words, key)
    return Wording(capital(explanation), question)


def conditions_at(key: str, words: Mapping[str, object]) -> tuple[str, ...]:
    """Return the conditions on a student's source for the sentence at *key*."""
    name, _, variant = key.partition(".")
    kind = KINDS[name]
    return tuple(fill(one, words, key) for one in kind.whens.get(variant, kind.when))


def marks_at(key: str) -> tuple[bool, bool]:
    """Return whether the mistake at *key* must explain all answers, and whether it is an effect."""
    name, _, variant = key.partition(".")
    of_all, of_effects = (
        some if isinstance(some, bool) else variant in some
        for some in (KINDS[name].in_all, KINDS[name].effect)
    )
    return of_all, of_effects


def plain_at(key: str) -> str:
    """Return the sentence at *key* for exercises without quantities of attention, or ""."""
    name, _, variant = key.partition(".")
    return KINDS[name].plains.get(variant, KINDS[name].plain)


def otherwise_at(key: str, words: Mapping[str, object]) -> str:
    """Return the sentence at *key* about a source that does not fulfill the conditions, or ""."""
    name, _, variant = key.partition(".")
    return fill(KINDS[name].elses.get(variant, ""), words, key)


def group_of(key: str, shared: str, said: Wording | None, words: Wording) -> str:
    """Return the group of a mistake: the *shared* one, or that of mistakes with equal sentences.

    If the stage *said* the sentences of a kind, all mistakes of the kind have them.
    """
    kind = key.partition(".")[0]
    if said:
        return kind
    return shared or f"{kind} {words.explanation}"


def silenced(groups: Collection[Group]) -> dict[str, None]:
    """Return the kinds that are in none of *groups*, as ``OPERATORS`` of a stage silences them."""
    return {name: None for name, kind in KINDS.items() if kind.group not in groups}


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
