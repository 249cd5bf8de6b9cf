"""Fills in the offline grading worksheet of Moodle (``mod/assign/feedback/offline``).

Its columns have names in the teacher's language, so it must be downloaded first (*View all
submissions → Download grading worksheet*). The identifier is a word and the participant's number.
The column after the grade is the maximum grade. A workflow state may follow, and then a
column that states whether the grade is locked. Moodle ignores a grade outside 0 … maximum without a
message.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from autograder.errors import UsageError
from autograder.exports.export_file import (
    CsvTable,
    ExportFile,
    csv_content,
    formula_warnings,
    number,
    points,
    read_csv,
)
from autograder.exports.grade_table import (
    GradeTable,
    RosterRow,
    Score,
    StageColumn,
    StudentGrades,
    comparable,
    lms_number,
    match_students,
    nothing_matched,
)
from autograder.sanitize import MAX_SENTENCE, MAX_WORD, line
from autograder.submission.names import comparison_key
from autograder.submission.roster import PARTICIPANT

PLACES = 5  # decimals in Moodle's database
GRADE: Final = frozenset(
    map(comparable, ("Grade", "Bewertung", "Note", "Calificación", "Valutazione", "Nota", "Betyg"))
)
# A missing word does no harm, because Moodle itself ignores locked grades.
NO: Final = frozenset(
    map(comparable, ("No", "Nein", "Non", "Não", "Nee", "Nej", "Nei", "Ei", "Ne", "Nie"))
)


def moodle(
    grades: GradeTable,
    worksheet: bytes,
    stage: str,
    grade_column: str = "",
    *,
    to_points: bool = False,
) -> ExportFile:
    """Fill in the grades of *stage* in *worksheet*; all other cells stay as they are.

    With *to_points*, scores are scaled to the maximum grade of the assignment. The feedback column
    is not filled in, because Moodle would overwrite its own feedback with it.
    """
    table = read_csv(worksheet, "worksheet")
    cells = [list(row) for row in table.rows]
    column = _stage(grades, stage)
    identifier = _identifier(table)
    grade = _grade(table, grade_column)
    scores = list(grades.scores(column.name))
    students = [row for row, _ in scores]
    participants = _roster_rows(table, identifier, grade)
    rows, remarks = match_students(students, participants, "worksheet")
    renamed = _renamed(rows, participants)
    remarks += tuple(renamed.values())
    rows = {student: row for student, row in rows.items() if student not in renamed}
    for row, score in scores:
        if row.student in rows:
            cell = cells[rows[row.student]]
            filled = _scaled(score, column, cell, grade) if to_points else (score, column)
            remarks += _write_grade(cell, grade, row, *filled)
    remarks += formula_warnings(table.rows, "worksheet")
    problem = nothing_matched(students, rows, "worksheet")
    # Moodle accepts a decimal point in every language.
    content = csv_content(cells, bom=table.bom)
    return ExportFile(content, (*grades.remarks, *remarks), problem)


def _stage(grades: GradeTable, name: str) -> StageColumn:
    known = {column.name: column for column in grades.stages}
    if name not in known:
        raise UsageError(f"There is no stage {name!r}. Stages: {', '.join(known)}.")
    return known[name]


def _identifier(table: CsvTable) -> int:
    """Return the column in which every cell is a word and a number."""
    for at in range(len(table.rows[0])):
        if all(PARTICIPANT.fullmatch(cell) for cell in _below(table, at)):
            return at
    raise UsageError(
        f"{_columns(table)} None of them contains identifiers such as “Participant 123”. Switch on "
        "“Offline grading worksheet” in the assignment's feedback types and download it."
    )


def _grade(table: CsvTable, wanted: str) -> int:
    """Return the column of grades, by the *wanted* name, a known name, or its numbers."""
    header = [comparable(name) for name in table.rows[0]]
    names = {comparable(wanted)} if wanted else GRADE
    found = [at for at, name in enumerate(header) if name in names]
    if not found and not wanted:
        found = [at for at in range(len(header) - 1) if _looks_like_grades(table, at)]
    if len(found) == 1 and found[0] + 1 < len(header):
        return found[0]
    problem = "Several could be" if found else "None is recognized as"
    raise UsageError(f"{_columns(table)} {problem} the grade column. Name it with --grade-column.")


def _looks_like_grades(table: CsvTable, at: int) -> bool:
    given = [points(cell) for cell in _below(table, at) if cell.strip()]
    maxima = {points(cell) for cell in _below(table, at + 1)}
    most = maxima.pop() if len(maxima) == 1 else None
    return bool(most) and all(value is not None and 0 <= value <= (most or 0) for value in given)


def _below(table: CsvTable, at: int) -> list[str]:
    return [row[at] if at < len(row) else "" for row in table.rows[1:] if any(row)]


def _columns(table: CsvTable) -> str:
    return f"The worksheet's columns are {line(', '.join(table.rows[0]), MAX_SENTENCE)}."


def _roster_rows(table: CsvTable, identifier: int, grade: int) -> list[RosterRow]:
    """Return the students' rows; each cell between identifier and grade may identify a student."""
    rows = []
    for i, row in enumerate(table.rows):
        match = PARTICIPANT.fullmatch(row[identifier]) if i and identifier < len(row) else None
        if match is not None:
            cells = tuple(row[identifier:grade])
            rows.append(RosterRow(i, match[2], cells, cells))
    return rows


def _renamed(rows: Mapping[str, int], participants: Iterable[RosterRow]) -> dict[str, str]:
    """Return a remark for each student whose number has a different name in the worksheet."""
    by_row = {participant.row: participant for participant in participants}
    remarks = {}
    for student, row in rows.items():
        number, known = by_row[row].number, by_row[row].names
        cells = frozenset(map(_letters, (known[0].removesuffix(number), *known)))
        is_by_number = lms_number(student) == number and _letters(student) not in cells
        if len(known) > 1 and is_by_number and not cells & set(_spellings(student)):
            remarks[student] = (
                f"{student}: participant {number} has a different name in the worksheet, "
                "not exported"
            )
    return remarks


def _spellings(student: str) -> Iterator[str]:
    """Yield the letters of the name in the id, also without groups, which end in a hyphen."""
    parts = student.rpartition("_")[0].split("-")
    return filter(None, (_letters("-".join(parts[start:])) for start in range(len(parts))))


def _letters(text: str) -> str:
    """Return the letters and digits of *text*, as Moodle drops all others from file names."""
    return "".join(re.findall(r"[^\W_]", comparison_key(text)))


def _write_grade(
    cells: list[str], at: int, who: StudentGrades, score: Score, stage: StageColumn
) -> tuple[str, ...]:
    cells += [""] * (at + 2 - len(cells))
    old, new = line(cells[at], MAX_WORD), number(score.score, PLACES)
    _require_same_maximum(line(cells[at + 1], MAX_WORD), stage)
    if NO & set(map(comparable, cells[at + 2 : at + 4])):
        return (f"{who.student}: the grade is locked in Moodle, not changed",)
    cells[at] = new
    if old and number(points(old), PLACES) != new:
        return (f"{who.student}: the grade was {old} and becomes {new}",)
    return ()


def _scaled(
    score: Score, stage: StageColumn, cells: list[str], at: int
) -> tuple[Score, StageColumn]:
    """Return *score* and *stage* scaled to the maximum grade in the row *cells*, if it has one."""
    most = points(line(cells[at + 1], MAX_WORD)) if at + 1 < len(cells) else None
    if not most or not stage.max_score or score.score is None:
        return score, stage
    factor = most / stage.max_score
    return replace(score, score=score.score * factor), replace(stage, max_score=most)


def _require_same_maximum(maximum: str, stage: StageColumn) -> None:
    most = points(maximum)
    if most is None:
        raise UsageError(
            f"This assignment is graded on a scale ({maximum!r}), not in points, so no grade can "
            "be entered."
        )
    if stage.max_score is not None and number(most) != number(stage.max_score):
        raise UsageError(
            f"The maximum grade in Moodle is {maximum}, but {stage.name} is worth "
            f"{stage.max_score:g} points here. Set the assignment's maximum grade to "
            f"{stage.max_score:g} in Moodle and download the worksheet again, or add --scale."
        )
