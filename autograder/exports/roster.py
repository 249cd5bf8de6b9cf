"""Who is who in a gradebook that Canvas exported."""

import re
from collections.abc import Sequence
from typing import Final

from autograder.errors import UsageError
from autograder.exports.csv_io import Table
from autograder.exports.student_matching import Person
from autograder.sanitize import MAX_SENTENCE, line

WORTH: Final = "Points Possible"
_MUTED = re.compile(r"\s*(?:muted|manual posting.*)?\s*", re.IGNORECASE | re.DOTALL)


def refuse_strangers(header: Sequence[str]) -> None:
    """Raise ``UsageError`` unless the header is one that Canvas writes and reads."""
    first = [name.strip() for name in header[:3]]
    if "Section" not in header or (first[:2] != ["Student", "ID"] and first[2:] != ["ID"]):
        shown = line(", ".join(header[:5]), MAX_SENTENCE)
        msg = (
            f"The roster's first columns are {shown}; Canvas needs Student, ID, SIS Login ID, "
            "Section. Export it in Canvas: Grades, Export, Entire Gradebook."
        )
        raise UsageError(msg)


def people(table: Table) -> list[Person]:
    """Read who is who; the rows of points and of manual posting are nobody."""
    at = {name.strip(): i for i, name in reversed(list(enumerate(table.rows[0])))}

    def cell(row: Sequence[str], name: str) -> str:
        return row[at[name]].strip() if name in at and at[name] < len(row) else ""

    return [
        Person(
            row=i,
            number=cell(row, "ID"),
            identifiers=(cell(row, "ID"), cell(row, "SIS User ID"), cell(row, "SIS Login ID")),
            names=(
                cell(row, "Student"),
                f"{cell(row, 'LastName')}, {cell(row, 'FirstName')}",
                f"{cell(row, 'FirstName')} {cell(row, 'LastName')}",
            ),
        )
        for i, row in enumerate(table.rows)
        if i and row and WORTH not in row[0] and not all(map(_MUTED.fullmatch, row))
    ]
