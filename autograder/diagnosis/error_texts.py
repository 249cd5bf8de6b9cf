"""One row of the table that explains exceptions."""

import re
from typing import NamedTuple


class ErrorText(NamedTuple):
    """What a text of an exception means; *pattern* matches its start.

    *sentence* holds nothing of the text, *shown* the groups of *pattern*; without *shown*,
    *sentence* stands everywhere.
    """

    name: str
    pattern: re.Pattern[str]
    sentence: str
    question: str
    shown: str

    @classmethod
    def of(
        cls, name: str, pattern: str, sentence: str, question: str, shown: str = ""
    ) -> "ErrorText":
        """Return a row whose *pattern* is given as text."""
        return cls(name, re.compile(pattern), sentence, question, shown)
