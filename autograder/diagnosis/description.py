"""Describes a wrong answer that no mistake explains, with sentences of ``patterns.toml``."""

from pathlib import Path
from typing import Final, NamedTuple

from msgspec import field

from autograder.diagnosis.sentences import (
    Sentence,
    TextEntry,
    fill,
    read_entries,
    require_placeholders,
)
from autograder.results import Diagnosis

PLACEHOLDERS: Final = frozenset(
    {"axis", "name", "names", "one", "other", "seed", "size"} | {"times", "turn", "what"}
)


class PatternText(TextEntry, frozen=True):
    """The sentences about one pattern; it needs a *sentence* or *variants*.

    *public* is the sentence for hidden inputs. With *from_solution*, it is not needed, because no
    word of the sentence comes from the student's answer.
    """

    question: Sentence
    sentence: str = ""
    public: str = ""
    from_solution: bool = False
    variants: dict[str, Sentence] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ``ValueError`` if the entry is wrong."""
        sentences = [*filter(None, [self.sentence]), *self.variants.values()]
        require_placeholders(sentences, PLACEHOLDERS)
        require_placeholders((self.question, self.public), ())
        if not sentences:
            msg = "missing required field `sentence`, or `variants`"
            raise ValueError(msg)
        words = self.variants or "{" in self.sentence
        if words and not (self.public or self.from_solution):
            msg = "missing required field `public`, because the answer decides the sentence"
            raise ValueError(msg)


PATTERNS: Final = dict(read_entries(Path(__file__).with_name("patterns.toml"), PatternText))


class WrongAnswerPattern(NamedTuple):
    """A pattern in a wrong answer: a short name, a sentence, a question.

    *public* is the sentence for a check with hidden inputs; the student's answer has no influence
    on its words. Without it, *sentence* is used for hidden inputs, too.
    """

    name: str
    sentence: str
    question: str
    public: str = ""

    @classmethod
    def of(cls, key: str, **words: object) -> "WrongAnswerPattern":
        """Return the pattern at *key*, a name such as "a" or a name and a variant such as "a.b"."""
        name, _, variant = key.partition(".")
        text = PATTERNS[name]
        sentence = text.variants[variant] if variant else text.sentence
        return cls(name, fill(sentence, words, key), text.question, text.public)

    def diagnosis(self, *, shows_values: bool) -> Diagnosis:
        """Return the diagnosis; *shows_values* is true if no input of the check is hidden."""
        sentence = self.sentence if shows_values else self.public or self.sentence
        return Diagnosis(self.name, sentence, self.question)
