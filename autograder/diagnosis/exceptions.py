"""Explains exceptions of Python and torch by their texts, mostly by the shapes in them.

A check with hidden inputs shows only a sentence of ``error_texts.toml``. Other checks may repeat
sizes and names from the text. The tests raise every text, so that a new version of torch can't lose
an explanation unnoticed.
"""

import re
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta

from autograder.diagnosis.answers import refuses
from autograder.diagnosis.description import WrongAnswerPattern
from autograder.diagnosis.patterns import Pattern
from autograder.diagnosis.sentences import Sentence, TextEntry, read_entries, require_placeholders
from autograder.results import Status
from autograder.sandbox.faults import NotFinished, Raised
from autograder.sandbox.protocol import Request


class ErrorText(TextEntry, frozen=True):
    """The meaning of an exception's text, whose start one of *patterns* matches.

    *sentence* contains no part of the text. *shown* may contain groups of the patterns; without it,
    *sentence* is used everywhere. *kind*, if given, is the only type of exception to which the
    entry applies.
    """

    patterns: Annotated[tuple[str, ...], Meta(min_length=1)]
    sentence: Sentence
    question: Sentence
    shown: str = ""
    kind: str = ""

    def __post_init__(self) -> None:
        """Raise ``ValueError`` if the entry is wrong."""
        try:
            groups = self.pattern.groupindex
        except re.error as error:
            msg = f"wrong pattern: {error}"
            raise ValueError(msg) from error
        require_placeholders((self.sentence, self.question), ())
        require_placeholders((self.shown,), groups)

    @property
    def pattern(self) -> re.Pattern[str]:
        """All patterns combined; ``re`` caches it."""
        return re.compile("|".join(self.patterns))

    def match(self, error: Raised) -> re.Match[str] | None:
        """Match the text of *error*, if the entry applies to its type."""
        return self.pattern.match(error.text) if self.kind in {"", error.kind} else None


MAX_NAMES = 8  # in one sentence
REFUSED = WrongAnswerPattern.of("refuses_right_arguments")
ENDLESS = WrongAnswerPattern.of("not_finished")
COMPILER = WrongAnswerPattern.of("loads_compiler")
ERROR_TEXTS: Final = tuple(
    read_entries(Path(__file__).with_name("error_texts.toml"), ErrorText)
)  # with their names; the first match is used


def explain_exception(error: BaseException | None) -> Pattern:
    """Explain the exception of the student's code, if its text comes from Python or torch.

    Code that was stopped at its time limit is explained, too.
    """
    if isinstance(error, NotFinished):
        return COMPILER if error.loads_compiler else ENDLESS
    if not isinstance(error, Raised) or (error.refusal and error.kind != "ValueError"):
        return None  # with a text of the student's own; any ValueError counts as a refusal
    if refuses(error):
        return REFUSED
    for name, row in ERROR_TEXTS:
        if found := row.match(error):
            shown = row.shown.format_map(found.groupdict())
            return WrongAnswerPattern(
                name, shown or row.sentence, row.question, public=row.sentence
            )
    return None


def explain_missing(error: BaseException | None, request: Request, owner: str) -> Pattern:
    """Describe code that lacks the parameters which *request* sets in the class *owner*."""
    is_missing = getattr(error, "status", None) is Status.MISSING
    names = list(request.kwargs)
    missing = re.match(r"torch lists no parameter (\S+)", str(error))
    if not (is_missing and names and missing):
        return None
    names.sort(key=missing[1].rstrip(";.").__ne__)
    listed = f"{', '.join(names[:MAX_NAMES])}, …"
    if len(names) <= MAX_NAMES:
        listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return WrongAnswerPattern.of("other_parameters", what=owner, names=listed)
