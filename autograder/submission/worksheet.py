"""Reads the names and numbers in Moodle's grading worksheet, to check a download.

A roster finds students of Moodle by their full names, which they may edit. They can't edit their
numbers.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Self

import msgspec

from autograder.errors import UsageError
from autograder.submission.names import ParsedName, comparison_key
from autograder.submission.roster import csv_rows

PARTICIPANT: Final = re.compile(r"(\D+)(\d+)", re.DOTALL)  # a word in any language, then the number


class Worksheet(msgspec.Struct, frozen=True):
    """The cells of each participant's row as ``letters`` returns them, by participant number."""

    rows: Mapping[str, frozenset[str]]

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a worksheet as Moodle exports it; raise ``UsageError`` if that fails."""
        rows = csv_rows(file)
        for column in rows[0] if rows else ():
            found = [PARTICIPANT.fullmatch(row.get(column, "")) for row in rows]
            if all(found):
                numbers = [match for match in found if match]
                cells = [
                    frozenset(map(letters, (match[1], *row.values())))
                    for match, row in zip(numbers, rows, strict=True)
                ]
                return cls(dict(zip([match[2] for match in numbers], cells, strict=True)))
        msg = (
            f"{file} is not a grading worksheet: no column holds identifiers such as “Participant "
            "123”. Switch on “Offline grading worksheet” in the assignment's feedback types and "
            "download it."
        )
        raise UsageError(msg)

    def doubt(self, parsed: ParsedName, *, is_found_by_name: bool) -> str:
        """Return why the student of *parsed* is unclear; empty if it is clear."""
        row = self.rows.get(parsed.number)
        if row is None:
            return f"the worksheet has no participant {parsed.number}."
        if not fits_name(parsed.name, row):
            return f"participant {parsed.number} has a different name in the worksheet."
        if is_found_by_name and sum(fits_name(parsed.name, one) for one in self.rows.values()) > 1:
            return "the worksheet has this name twice, so the student cannot be identified."
        return ""


def fits_name(name: str, cells: frozenset[str]) -> bool:
    """Return whether *name* is one of *cells*, which are in the form of ``letters``.

    Moodle may have put a group and a hyphen before *name*.
    """
    return any(spelled in cells for spelled in _spellings(name))


def letters(text: str) -> str:
    """Return the letters and digits of *text*, as Moodle drops all others from file names."""
    return "".join(re.findall(r"[^\W_]", comparison_key(text)))


def _spellings(name: str) -> Iterator[str]:
    parts = name.split("-")
    return filter(None, (letters("-".join(parts[start:])) for start in range(len(parts))))
