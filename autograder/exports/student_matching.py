"""Whose row is whose, in a file that a learning management system wrote; never a guess."""

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from autograder.exports.grade_table import StudentGrades
from autograder.submission.names import MAX_STUDENT, comparison_key

_NUMBER = re.compile(r".*_(\d+)(?P<changed>~[0-9a-f]{8})?", re.DOTALL)


class Person(msgspec.Struct, frozen=True):
    """One row of the download: the system's own number, other identifiers, and names."""

    row: int
    number: str
    identifiers: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def places(
    students: Sequence[StudentGrades], people: Sequence[Person], file: str
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the row of every student who has exactly one in *file*, and remarks on the others.

    The number at the end of an id that a download's name gave, and every other identifier, count
    alike: where they point to different rows, none is taken. Names count where no identifier does.
    """
    found = {student.student: _rows(student, people) for student in students}
    claims = Counter(rows[0] for rows in found.values() if len(rows) == 1)
    remarks = [_remark(who, rows, claims, file) for who, rows in found.items()]
    taken = {who: rows[0] for who, rows in found.items() if rows and not _open(rows, claims)}
    return taken, tuple(remark for remark in remarks if remark)


def number_of(student: str) -> str:
    """Return the number that the system knows *student* by, as ``lovelaceada_123`` ends; or ''."""
    match = _NUMBER.fullmatch(student)
    if match is None or (match["changed"] and len(student) >= MAX_STUDENT):
        return ""  # a shortened id may have lost the last digits of its number
    return match[1]


def key(word: str) -> str:
    """Return *word* as identifiers and titles are compared: case, accents' spelling, spaces."""
    return " ".join(comparison_key(word).split())


def _rows(student: StudentGrades, people: Sequence[Person]) -> list[int]:
    number = number_of(student.student)
    words = {key(student.student), key(student.email)} - {""}
    rows = [
        person.row
        for person in people
        if (number and person.number == number) or words & set(map(key, person.identifiers))
    ]
    if rows:
        return rows
    first, last = student.first_name, student.last_name
    names = {key(student.student)} | ({key(f"{last}, {first}"), key(f"{first} {last}")} - {",", ""})
    return [person.row for person in people if names & set(map(key, person.names))]


def _open(rows: list[int], claims: Counter[int]) -> bool:
    return len(rows) > 1 or claims[rows[0]] > 1


def _remark(student: str, rows: list[int], claims: Counter[int], file: str) -> str:
    if not rows:
        return f"{student}: not found in the {file}, not exported"
    if len(rows) > 1:
        lines = ", ".join(str(row + 1) for row in rows)
        return f"{student}: could be any of rows {lines} of the {file}, not exported"
    if claims[rows[0]] > 1:
        return f"{student}: row {rows[0] + 1} of the {file} fits another student too, not exported"
    return ""
