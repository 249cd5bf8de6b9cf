"""Matches our students to the rows of a file that a learning management system wrote."""

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from autograder.exports.grade_table import StudentGrades
from autograder.submission.names import MAX_STUDENT, comparison_key

_NUMBER = re.compile(r".*_(\d+)(?P<changed>~[0-9a-f]{8})?", re.DOTALL)


class RosterRow(msgspec.Struct, frozen=True):
    """One row of the download: the system's own number, other identifiers, and names."""

    row: int
    number: str
    identifiers: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def match_students(
    students: Sequence[StudentGrades], roster: Sequence[RosterRow], file: str
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the row of every student who has exactly one in *file*, and remarks on the others.

    Identifiers are the number at the end of an id that came from a download's name, and all others:
    where they point to different rows, there is no match. Names count where no identifier matches.
    """
    found = {student.student: _rows(student, roster) for student in students}
    claims = Counter(rows[0] for rows in found.values() if len(rows) == 1)
    remarks = {who: _remark(who, rows, claims, file) for who, rows in found.items()}
    matched = {who: rows[0] for who, rows in found.items() if not remarks[who]}
    return matched, tuple(filter(None, remarks.values()))


def lms_number(student: str) -> str:
    """Return the LMS's number of *student*, 123 of ``lovelaceada_123``; empty if there is none."""
    match = _NUMBER.fullmatch(student)
    if match is None or (match["changed"] and len(student) >= MAX_STUDENT):
        return ""  # a shortened id may have lost the last digits of its number
    return match[1]


def comparable(text: str) -> str:
    """Return *text* for comparisons that ignore case, encoding of accents, and spaces."""
    return " ".join(comparison_key(text).split())


def _rows(student: StudentGrades, roster: Sequence[RosterRow]) -> list[int]:
    number = lms_number(student.student)
    identifiers = {comparable(student.student), comparable(student.email)} - {""}
    rows = [
        entry.row
        for entry in roster
        if (number and entry.number == number)
        or identifiers & set(map(comparable, entry.identifiers))
    ]
    if rows:
        return rows
    first, last = student.first_name, student.last_name
    full_names = {comparable(f"{last}, {first}"), comparable(f"{first} {last}")} - {",", ""}
    names = {comparable(student.student), *full_names}
    return [entry.row for entry in roster if names & set(map(comparable, entry.names))]


def _remark(student: str, rows: list[int], claims: Counter[int], file: str) -> str:
    if not rows:
        return f"{student}: not found in the {file}, not exported"
    if len(rows) > 1:
        lines = ", ".join(str(row + 1) for row in rows)
        return f"{student}: could be any of rows {lines} of the {file}, not exported"
    if claims[rows[0]] > 1:
        return f"{student}: row {rows[0] + 1} of the {file} fits another student too, not exported"
    return ""
