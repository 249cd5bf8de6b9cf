"""Moodle: an assignment's offline grading worksheet, filled in.

What its importer (``mod/assign/feedback/offline``) asks of a file: columns named by Moodle's words
for *Identifier*, *Grade* and *Last modified (grade)* in the teacher's language; UTF-8; commas.
Nobody but Moodle can write those, so the worksheet is downloaded first (*View all submissions →
Download grading worksheet*). The identifier is a word and the participant's number; the column
after the grade is the maximum grade, then perhaps a workflow state, then whether the grade can be
changed. A grade outside 0 … maximum is passed over in silence, hence our refusals.
"""

import re
from typing import Final

from autograder.errors import UsageError
from autograder.exports.csv_io import Table, formula_warnings, number, points, read, write
from autograder.exports.export_file import Exported
from autograder.exports.grade_table import GradeTable, Score, StageColumn, StudentGrades
from autograder.exports.student_matching import Person, key, places
from autograder.sanitize import MAX_SENTENCE, MAX_WORD, line

PLACES = 5  # what Moodle's database keeps
GRADE: Final = frozenset(
    map(key, ("Grade", "Bewertung", "Note", "Calificación", "Valutazione", "Nota", "Betyg"))
)
# A word that is not among these does no harm: Moodle passes over locked grades itself.
NO: Final = frozenset(
    map(key, ("No", "Nein", "Non", "Não", "Nee", "Nej", "Nei", "Ei", "Ne", "Nie"))
)
_PARTICIPANT = re.compile(r"\D+(\d+)", re.DOTALL)


def moodle(grades: GradeTable, worksheet: bytes, stage: str, grade_column: str = "") -> Exported:
    """Fill the grades of *stage* into *worksheet*; every other cell keeps its content.

    Feedback stays the teacher's: Moodle overwrites what stands there with what the file holds.
    """
    table = read(worksheet, "worksheet")
    cells = [list(row) for row in table.rows]
    column = _stage(grades, stage)
    identifier = _identifier(table)
    grade = _grade(table, grade_column)
    scores = grades.scores(column.name)
    students = [row for row, _ in scores]
    rows, remarks = places(students, _people(table, identifier, grade), "worksheet")
    for row, score in scores:
        if row.student in rows:
            remarks += _put(cells[rows[row.student]], grade, column, row, score)
    # A decimal point is right in every language: Moodle turns its own sign into a point first.
    content = write(cells, bom=table.bom)
    remarks += formula_warnings(table.rows, "worksheet")
    return Exported(content, (*grades.remarks, *remarks))


def _stage(grades: GradeTable, name: str) -> StageColumn:
    for column in grades.stages:
        if column.name == name:
            return column
    msg = f"There is no stage {name!r}. Stages: {', '.join(item.name for item in grades.stages)}."
    raise UsageError(msg)


def _identifier(table: Table) -> int:
    """Find the column in which every cell is one word and a number."""
    for at in range(len(table.rows[0])):
        if all(_PARTICIPANT.fullmatch(cell) for cell in _below(table, at)):
            return at
    msg = (
        f"{_found(table)} None of them holds identifiers such as “Participant 123”. Switch on "
        "“Offline grading worksheet” in the assignment's feedback types and download it."
    )
    raise UsageError(msg)


def _grade(table: Table, wanted: str) -> int:
    """Find the column of grades: as told, by its name, or left of equal maximum grades."""
    header = [key(name) for name in table.rows[0]]
    names = {key(wanted)} if wanted else GRADE
    found = [at for at, name in enumerate(header) if name in names]
    if not found and not wanted:
        found = [at for at in range(len(header) - 1) if _looks_like_grades(table, at)]
    if len(found) == 1 and found[0] + 1 < len(header):
        return found[0]
    problem = "Several could be" if found else "None is known as"
    msg = f"{_found(table)} {problem} the one of the grades. Name it with --grade-column."
    raise UsageError(msg)


def _looks_like_grades(table: Table, at: int) -> bool:
    given = [points(cell) for cell in _below(table, at) if cell.strip()]
    maxima = {points(cell) for cell in _below(table, at + 1)}
    most = maxima.pop() if len(maxima) == 1 else None
    return bool(most) and all(value is not None and 0 <= value <= (most or 0) for value in given)


def _below(table: Table, at: int) -> list[str]:
    return [row[at] if at < len(row) else "" for row in table.rows[1:] if any(row)]


def _found(table: Table) -> str:
    return f"The worksheet's columns are {line(', '.join(table.rows[0]), MAX_SENTENCE)}."


def _people(table: Table, identifier: int, grade: int) -> list[Person]:
    """Read who is who: whatever stands between identifier and grade may identify a student."""
    people = []
    for i, row in enumerate(table.rows):
        match = _PARTICIPANT.fullmatch(row[identifier]) if i and identifier < len(row) else None
        if match is not None:
            who = tuple(row[identifier:grade])
            people.append(Person(i, match[1], who, who))
    return people


def _put(
    cells: list[str], at: int, stage: StageColumn, who: StudentGrades, score: Score
) -> tuple[str, ...]:
    cells += [""] * (at + 2 - len(cells))
    old, new = line(cells[at], MAX_WORD), number(score.score, PLACES)
    _refuse_scaling(line(cells[at + 1], MAX_WORD), stage)
    if NO & set(map(key, cells[at + 2 : at + 4])):
        return (f"{who.student}: Moodle says that the grade can't be changed, left as it is",)
    cells[at] = new
    if old and number(points(old), PLACES) != new:
        return (f"{who.student}: the grade was {old} and becomes {new}",)
    return ()


def _refuse_scaling(maximum: str, stage: StageColumn) -> None:
    most = points(maximum)
    if most is None:
        msg = (
            f"This assignment is graded by words ({maximum!r}), not by points: nothing to fill in."
        )
        raise UsageError(msg)
    if stage.max_score is not None and number(most) != number(stage.max_score):
        msg = (
            f"In Moodle the maximum grade is {maximum}, and {stage.name} is worth "
            f"{stage.max_score:g} points here. Set the assignment's maximum grade to "
            f"{stage.max_score:g} in Moodle and download the worksheet again."
        )
        raise UsageError(msg)
