"""Writes the CSV file that Canvas's *Grades → Import* reads (``lib/gradebook_importer.rb``).

The header begins with ``Student``, ``ID`` (or ``LastName``, ``FirstName``, ``ID``), then ``SIS User
ID`` or ``SIS Login ID``. Every column after ``Section`` is an assignment, named ``Title (id)`` or
by its title; an unknown title creates a new assignment. A row with ``Points Possible`` in its first
cell sets their points. Canvas finds a student by ID, SIS ID, login, then name, and compares scores
with two decimals.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from autograder.errors import UsageError
from autograder.exports.export_file import (
    CsvTable,
    ExportFile,
    csv_content,
    csv_id,
    csv_text,
    formula_warnings,
    is_formula,
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

PLACES: Final = 2
POINTS: Final = "Points Possible"
_INFO = ("Student", "ID", "SIS Login ID", "Section")
_ASSIGNMENT_ID = re.compile(r"(?<=\S)\s+\(\d+\)\s*\Z")
_MAX_TITLE = 255  # characters, in Canvas
_MUTED = re.compile(r"\s*(?:muted|manual posting.*)?\s*", re.IGNORECASE | re.DOTALL)


def canvas(
    grades: GradeTable, roster: bytes | None = None, *, to_points: bool = False
) -> ExportFile:
    """Fill in *roster*, which was exported from Canvas, or make a new file.

    Other columns, excused students (``EX``) and cells of students without a grade stay as they are.
    An assignment with different points is left out, unless *to_points* scales its scores.
    """
    if roster is None:
        remarks = (*grades.remarks, *_formula_remarks(grades))
        return ExportFile(csv_content(_new_rows(grades)), remarks)
    table = read_csv(roster, "roster")
    _require_canvas_header(table.rows[0])
    graded = grades.graded
    scored = [row for row in grades.rows if any(map(row.has_score, graded))]
    rows, remarks = match_students(scored, _roster_rows(table), "roster")
    problem = nothing_matched(scored, rows, "roster")
    # Canvas finds its students by these cells, so they are not changed.
    remarks += formula_warnings(table.rows, "roster")
    cells = [list(row) for row in table.rows]
    blocked = 0
    for stage in graded:
        at, is_new = _column(cells, stage)
        remarks += (_new_column(stage),) * is_new
        factor, about_points = _factor(cells, at, stage, to_points=to_points)
        remarks += about_points
        blocked += not factor
        for row, score in grades.scores(stage.name) if factor else ():
            if row.student in rows:
                remarks += _write_score(cells, rows[row.student], at, row, score, factor)
    if graded and blocked == len(graded):
        problem = problem or (
            "No assignment has the same maximum points as its stage; nothing was written."
        )
    content = csv_content(cells, table.delimiter, bom=table.bom)
    return ExportFile(content, (*grades.remarks, *remarks), problem)


def _require_canvas_header(header: Sequence[str]) -> None:
    first = [name.strip() for name in header[:3]]
    if "Section" not in header or (first[:2] != ["Student", "ID"] and first[2:] != ["ID"]):
        shown = line(", ".join(header[:5]), MAX_SENTENCE)
        raise UsageError(
            f"The roster's first columns are {shown}; Canvas needs Student, ID, SIS Login ID "
            "and Section. Export it in Canvas: Grades, Export, Entire Gradebook."
        )


def _roster_rows(table: CsvTable) -> list[RosterRow]:
    """Return the students' rows, without the rows of points and of manual posting."""
    header = [name.strip() for name in table.rows[0]]
    found = []
    for i, row in enumerate(table.rows):
        if i and row and POINTS not in row[0] and not all(map(_MUTED.fullmatch, row)):
            cells = zip(header, map(str.strip, row), strict=False)
            # Reversed, so that the first of two columns with the same name counts.
            cell = defaultdict(str, reversed(list(cells)))
            first, last = cell["FirstName"], cell["LastName"]
            identifiers = (cell["ID"], cell["SIS User ID"], cell["SIS Login ID"])
            names = (cell["Student"], f"{last}, {first}", f"{first} {last}")
            found.append(RosterRow(i, cell["ID"], identifiers, names))
    return found


def _new_rows(grades: GradeTable) -> Iterator[list[str]]:
    graded = grades.graded
    yield [*_INFO, *(csv_text(stage.title, _MAX_TITLE) for stage in graded)]
    yield _row([f"    {POINTS}", "", "", ""], [stage.max_score for stage in graded])
    for row in grades.rows:
        scores = (row.scores.get(stage.name) for stage in graded)
        who = [_name(row), lms_number(row.student), csv_id(row.student), ""]
        yield _row(who, [score.score if score else None for score in scores])


def _row(info: list[str], points: Sequence[float | None]) -> list[str]:
    """Return the cells of a row, up to the last column with points."""
    cells = [number(value, PLACES) for value in points]
    while cells and not cells[-1]:
        cells.pop()
    return info + cells


def _formula_remarks(grades: GradeTable) -> Iterator[str]:
    for row in grades.rows:
        if is_formula(row.student):
            yield (
                f"{row.student}: begins like a formula and got an apostrophe in front, so Canvas "
                "will not find the login; fill in a roster instead"
            )


def _name(row: StudentGrades) -> str:
    named = ", ".join(part for part in (row.last_name, row.first_name) if part)
    tail = lms_number(row.student)
    return csv_text(named or (row.student.removesuffix(f"_{tail}") if tail else row.student))


def _column(cells: list[list[str]], stage: StageColumn) -> tuple[int, bool]:
    """Return the column of *stage*, found by title or name or added, and whether it is new."""
    header = cells[0]
    wanted = {comparable(stage.title), comparable(stage.name)}
    info = header.index("Section") + 1
    titles = [comparable(_ASSIGNMENT_ID.sub("", name)) for name in header]
    found = [i for i, title in enumerate(titles) if i >= info and title in wanted]
    if len(found) > 1:
        names = ", ".join(line(header[i], MAX_WORD) for i in found)
        msg = f"The roster has several columns for {stage.name}: {names}. Remove all but one."
        raise UsageError(msg)
    if found:
        return found[0], False
    _set_cell(cells, 0, len(header), csv_text(stage.title, _MAX_TITLE))
    return len(header) - 1, True


def _new_column(stage: StageColumn) -> str:
    return (
        f"No assignment in the roster is named “{stage.title}” or “{stage.name}”, so Canvas "
        "will create a new assignment. If the assignment already exists in Canvas, give it "
        "that name and export the roster again."
    )


def _write_score(
    cells: list[list[str]], row: int, at: int, who: StudentGrades, score: Score, factor: float
) -> tuple[str, ...]:
    old = _cell(cells, row, at)
    new = number((score.score or 0.0) * factor, PLACES)
    title = line(cells[0][at], MAX_WORD)
    if old.casefold() == "ex":
        return (f"{who.student}: excused in {title}, not changed (would be {new})",)
    _set_cell(cells, row, at, new)
    if old and number(points(old), PLACES) != new:
        return (f"{who.student}: {title} was {old} and becomes {new}",)
    return ()


def _factor(
    cells: list[list[str]], at: int, stage: StageColumn, *, to_points: bool
) -> tuple[float, tuple[str, ...]]:
    """Return the factor for scores, or 0 if Canvas has different points, and a remark."""
    most = stage.max_score
    if most is None:
        return 1.0, ()
    row = next((i for i, row in enumerate(cells) if i and row and POINTS in row[0]), len(cells))
    if row == len(cells):  # Canvas accepts it in any row; at the end it moves no other row
        cells.append([f"    {POINTS}"])
    old = _cell(cells, row, at)
    theirs = points(old) if old else most
    if number(theirs, PLACES) == number(most, PLACES):
        _set_cell(cells, row, at, old or number(most, PLACES))
        return 1.0, ()
    title = line(cells[0][at], MAX_WORD)
    worth = f"In Canvas, {title} is worth {old} points, and {stage.name} {most:g} here"
    if to_points and theirs:
        return theirs / most, (f"{worth}, so scores are multiplied by {theirs / most:g}.",)
    remark = (
        f"{worth}, so that column is not filled in. Convert the scores with --scale, or set the "
        f"assignment's points to {most:g} in Canvas and export the roster again."
    )
    return 0.0, (remark,)


def _set_cell(cells: list[list[str]], row: int, at: int, value: str) -> None:
    cells[row] += [""] * (at + 1 - len(cells[row]))
    cells[row][at] = value


def _cell(cells: list[list[str]], row: int, at: int) -> str:
    return line(cells[row][at], MAX_WORD) if at < len(cells[row]) else ""
