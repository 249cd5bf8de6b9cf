"""Canvas: the CSV file that *Grades → Import* reads.

What its importer (``lib/gradebook_importer.rb``) asks of a file: the first cell holds ``Student``,
the second ``ID`` (or ``LastName``, ``FirstName``, ``ID``); then come ``SIS Login ID``, or ``SIS
User ID``, ``SIS Login ID`` and perhaps ``Integration ID`` and ``Root Account``; ``Section`` ends
them. Every further column is an assignment, ``Title (id)`` or a title; an unknown title makes a
new assignment. A row whose first cell holds ``Points Possible`` sets what they are worth. It finds
a student by ID, then by SIS ID, then by login, then by name, and compares scores at two decimals:
ours have two, halves up.
"""

import re

from autograder.errors import UsageError
from autograder.exports.csv_io import (
    Table,
    formula_warnings,
    is_formula,
    number,
    points,
    read,
    text,
    write,
)
from autograder.exports.export_file import Exported
from autograder.exports.grade_table import GradeTable, Score, StageColumn, StudentGrades
from autograder.exports.roster import WORTH, people, refuse_strangers
from autograder.exports.student_matching import key, number_of, places
from autograder.sanitize import MAX_WORD, line

PLACES = 2
_INFO = ("Student", "ID", "SIS Login ID", "Section")
_UPLOADED = re.compile(r"(?P<title>.*\S)\s+\(\d+\)", re.DOTALL)
_LONG = 255  # characters of a title in Canvas


def canvas(grades: GradeTable, roster: bytes | None = None) -> Exported:
    """Fill *roster*, exported from Canvas before, or make a file of our own without names.

    Everything else in the roster stays as it is: other columns, excused students (``EX``), and
    the cells of students who have no grade here.
    """
    if roster is None:
        table, rows, remarks = _alone(grades)
    else:
        table = read(roster, "roster")
        refuse_strangers(table.rows[0])
        rows, remarks = places(grades.rows, people(table), "roster")
        # Changed, they would not be what Canvas finds its students by.
        remarks += formula_warnings(table.rows, "roster")
    cells = [list(row) for row in table.rows]
    for stage in grades.graded:
        scores = [(rows[row.student], row, score) for row, score in grades.scores(stage.name)
                  if row.student in rows]  # fmt: skip
        remarks += _fill(cells, _column(cells, stage), stage, scores)
    content = write(cells, table.delimiter, bom=table.bom)
    return Exported(content, (*grades.remarks, *remarks))


def _alone(grades: GradeTable) -> tuple[Table, dict[str, int], tuple[str, ...]]:
    """Make a roster of the students whom we know, as Canvas would have exported it."""
    rows = tuple((_name(row), number_of(row.student), text(row.student), "") for row in grades.rows)
    remarks = tuple(
        f"{row.student}: begins like a formula and got an apostrophe in front, so Canvas won't "
        "know the login; fill in a roster instead"
        for row in grades.rows
        if is_formula(row.student)
    )
    top = (_INFO, (f"    {WORTH}", "", "", ""))
    at = {row.student: i for i, row in enumerate(grades.rows, len(top))}
    return Table((*top, *rows)), at, remarks


def _name(row: StudentGrades) -> str:
    named = ", ".join(part for part in (row.last_name, row.first_name) if part)
    tail = number_of(row.student)
    return text(named or (row.student.removesuffix(f"_{tail}") if tail else row.student))


def _column(cells: list[list[str]], stage: StageColumn) -> int:
    """Find the column of *stage* by its title or its name, or add one."""
    header = cells[0]
    wanted = {key(stage.title), key(stage.name)}
    info = header.index("Section") + 1
    found = [i for i, name in enumerate(header) if i >= info and key(_title(name)) in wanted]
    if len(found) > 1:
        names = ", ".join(line(header[i], MAX_WORD) for i in found)
        msg = f"The roster has several columns for {stage.name}: {names}. Take all but one away."
        raise UsageError(msg)
    if found:
        return found[0]
    _add(cells, 0, len(header), text(stage.title, _LONG))
    return len(header) - 1


def _title(name: str) -> str:
    match = _UPLOADED.fullmatch(name.strip())
    return match["title"] if match else name


def _fill(
    cells: list[list[str]],
    at: int,
    stage: StageColumn,
    scores: list[tuple[int, StudentGrades, Score]],
) -> tuple[str, ...]:
    remarks = [_put(cells, row, at, who, score) for row, who, score in scores]
    if stage.max_score is not None:
        _worth(cells, at, stage, stage.max_score)
    return tuple(remark for remark in remarks if remark)


def _put(cells: list[list[str]], row: int, at: int, who: StudentGrades, score: Score) -> str:
    old = _cell(cells, row, at)
    new = number(score.score, PLACES)
    title = line(cells[0][at], MAX_WORD)
    if old.casefold() == "ex":
        return f"{who.student}: excused in {title}, left so (would be {new})"
    _add(cells, row, at, new)
    changed = old and number(points(old), PLACES) != new
    return f"{who.student}: {title} was {old} and becomes {new}" if changed else ""


def _worth(cells: list[list[str]], at: int, stage: StageColumn, most: float) -> None:
    """Fill in the points of a column, and refuse one that is worth something else."""
    row = next((i for i, row in enumerate(cells) if i and row and WORTH in row[0]), len(cells))
    if row == len(cells):  # Canvas reads it anywhere; at the end it moves no student
        cells.append([f"    {WORTH}"])
    old = _cell(cells, row, at)
    if old and number(points(old), PLACES) != number(most, PLACES):
        title = line(cells[0][at], MAX_WORD)
        msg = (
            f"In Canvas, {title} is worth {old} points, and {stage.name} {most:g} here. "
            f"Set the assignment's points to {most:g} in Canvas and export the roster again."
        )
        raise UsageError(msg)
    _add(cells, row, at, old or number(most, PLACES))


def _add(cells: list[list[str]], row: int, at: int, value: str) -> None:
    cells[row] += [""] * (at + 1 - len(cells[row]))
    cells[row][at] = value


def _cell(cells: list[list[str]], row: int, at: int) -> str:
    return line(cells[row][at], MAX_WORD) if at < len(cells[row]) else ""
