"""Reads Moodle's grading worksheet: the names, and the numbers, which nobody can edit.

Students may edit their full names, by which a roster finds them in a download from Moodle.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Self

import msgspec

from autograder.errors import UsageError
from autograder.submission.names import ParsedName, comparison_key
from autograder.submission.roster import csv_rows

PARTICIPANT: Final = re.compile(r"(\D+)(\d+)", re.DOTALL)  # a word of any language, and the number


class Worksheet(msgspec.Struct, frozen=True):
    """The worksheet's data about each participant, by the participant's number, for comparison."""

    rows: Mapping[str, frozenset[str]]

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a worksheet as Moodle exports it; raises ``UsageError``."""
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
        """Say why it is unclear whose submission *parsed* names; empty if it is clear."""
        row = self.rows.get(parsed.number)
        if row is None:
            return f"the worksheet has no participant {parsed.number}."
        if not fits_name(parsed.name, row):
            return f"participant {parsed.number} has a different name in the worksheet."
        if is_found_by_name and sum(fits_name(parsed.name, one) for one in self.rows.values()) > 1:
            return "the worksheet has this name twice, so the student cannot be identified."
        return ""


def fits_name(name: str, cells: frozenset[str]) -> bool:
    """Return whether one of *cells*, as ``letters`` makes them, is *name*.

    In front of it Moodle may have put a group and a hyphen.
    """
    return any(spelled in cells for spelled in _spellings(name))


def letters(text: str) -> str:
    """Return the letters and digits of *text*: Moodle drops others from the names of files."""
    return "".join(re.findall(r"[^\W_]", comparison_key(text)))


def _spellings(name: str) -> Iterator[str]:
    parts = name.split("-")
    return filter(None, (letters("-".join(parts[start:])) for start in range(len(parts))))
