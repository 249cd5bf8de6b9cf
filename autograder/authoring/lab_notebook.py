"""A stage's lab as a file: what authors write, the instructor's master, and what students receive.

nbgrader's own preprocessors make the student's version, in the order of ``nbgrader
generate_assignment``, so that both commands write the same bytes. Points come from the hidden
suite and stand nowhere else.
"""

import math
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autograder.errors import CourseError

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
FORBIDDEN = frozenset({"BEGIN SOLUTION", "BEGIN HIDDEN TESTS", "AUTOTEST"})
SCHEME = ("BEGIN MARK SCHEME", "END MARK SCHEME")
_EXACT = re.compile("|".join(SCHEME))  # what nbgrader knows, anywhere in a line
_MEANT = re.compile(
    r"^\W*#[\W_]*((?:begin|end)[\W_]*mark[\W_]*scheme)", re.IGNORECASE | re.MULTILINE
)

Notebook = dict[str, Any]


def authored(path: Path, points: Mapping[str, float]) -> bytes:
    """Return the lab at *path* as it should stand in ``source/``.

    *points* are those of each exercise, by name. Outputs and what editors leave behind are gone;
    raises ``CourseError`` if a grade cell is missing, twice there, or belongs to no exercise.
    """
    import nbformat  # noqa: PLC0415  # one second, for those who build

    try:
        with warnings.catch_warnings(action="ignore"):  # about ids: they are made anew
            notebook = nbformat.reads(path.read_text("utf-8"), as_version=4)
        notebook.nbformat, notebook.nbformat_minor = 4, 5
        for number, cell in enumerate(notebook.cells):
            cell.id = f"cell-{number:02}"
        nbformat.validate(notebook)
    except Exception as error:
        why = str(error).partition("\n")[0]
        msg = f"{path} is no notebook of format 4: {why}"
        raise CourseError(msg) from error
    _check_cells(path, notebook.cells, points)
    for cell in notebook.cells:
        told = cell.metadata.get("nbgrader")
        cell.metadata = {"nbgrader": _told(told, points)} if told else {}
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    return written(notebook)


def released(text: bytes) -> bytes:
    """Return what students receive of the authored lab *text*."""
    notebook = _prepared(text)
    for step in _steps("ClearHiddenTests", "ClearMarkScheme", "ComputeChecksums"):
        notebook, _ = step.preprocess(notebook, {})
    return written(notebook)


def master(text: bytes) -> Notebook:
    """Return the instructor's version of the authored lab *text*: with the mark schemes."""
    return dict(_prepared(text))


def points(notebook: Notebook) -> dict[str, float]:
    """Return what each grade cell of *notebook* is worth that the grader serves, in order."""
    told = (cell["metadata"].get("nbgrader", {}) for cell in notebook["cells"])
    return {
        cell["grade_id"]: cell["points"]
        for cell in told
        if cell.get("grade") and not cell["solution"]
    }


def written(notebook: Any) -> bytes:
    """Encode *notebook*, always in the same way."""
    import nbformat  # noqa: PLC0415  # one second, for those who build

    text: str = nbformat.writes(nbformat.from_dict(notebook), version=nbformat.NO_CONVERT)
    return (text.rstrip("\n") + "\n").encode()


def _prepared(text: bytes) -> Any:
    import nbformat  # noqa: PLC0415  # one second, for those who build

    notebook = nbformat.reads(text.decode(), as_version=4)
    for step in _steps("LockCells", "ClearSolutions", "ClearOutput", "ComputeChecksums"):
        notebook, _ = step.preprocess(notebook, {})
    return notebook


def _steps(*names: str) -> list[Any]:
    from nbgrader import preprocessors  # noqa: PLC0415  # two seconds, for those who build

    steps = [getattr(preprocessors, name)() for name in names]
    for step in steps:
        if hasattr(step, "enforce_metadata"):
            step.enforce_metadata = False  # a mark scheme may stand in a locked question
    return steps


def _check_cells(path: Path, cells: Sequence[Any], points: Mapping[str, float]) -> None:
    for number, cell in enumerate(cells, start=1):
        _check_told(path, number, cell)
        _check_cell(path, cell, points)
    named = [cell.metadata["nbgrader"]["grade_id"] for cell in cells if _is_named(cell)]
    for twin in (name for name, count in Counter(named).items() if count > 1):
        msg = f"{path}: two cells are named {twin!r}."
        raise CourseError(msg)
    graded = [cell.metadata["nbgrader"]["grade_id"] for cell in cells if _is_check(cell)]
    if missing := [name for name in points if name not in graded]:
        msg = f'{path} has no grade cell for {missing[0]}: add lab.check("{missing[0]}").'
        raise CourseError(msg)


def _check_told(path: Path, number: int, cell: Any) -> None:
    """Raise ``CourseError`` where nbgrader would not know what the cell is, or what it is worth."""
    if not _is_named(cell):
        return
    told = cell.metadata["nbgrader"]
    name = told.get("grade_id") if isinstance(told, dict) else None
    if not (isinstance(name, str) and name):
        msg = f"{path}: cell {number} has nbgrader's metadata, but no grade_id in them."
        raise CourseError(msg)
    if _is_check(cell) or not (told.get("grade") or told.get("task")):
        return
    if not (told.get("solution") or told.get("task")):
        msg = f"{path}: the cell {name!r} is to be graded by hand, so students must write in it."
        raise CourseError(msg)
    worth = told.get("points")
    if not (isinstance(worth, int | float) and 0 <= worth < math.inf):
        msg = f"{path}: the cell {name!r} is to be graded by hand, but its points are {worth!r}."
        raise CourseError(msg)


def _check_cell(path: Path, cell: Any, points: Mapping[str, float]) -> None:
    told = cell.metadata.get("nbgrader") or {}
    name = told.get("grade_id", "")
    for marker in FORBIDDEN:
        if marker in cell.source:
            msg = f"{path}: {marker!r} has no place in a lab; solutions stand in solutions/ only."
            raise CourseError(msg)
    if _EXACT.search(cell.source) or _MEANT.search(cell.source):
        _check_scheme(path, cell, safe=bool(name and told.get("locked")))
    if _is_check(cell) and name not in points:
        msg = f"{path}: the grade cell {name!r} belongs to no exercise of stage.toml."
        raise CourseError(msg)
    if _is_check(cell) and cell.source.strip() != f'lab.check("{name}")':
        msg = f'{path}: the grade cell {name} must hold lab.check("{name}") and nothing else.'
        raise CourseError(msg)


def _check_scheme(path: Path, cell: Any, *, safe: bool) -> None:
    """Raise ``CourseError`` where nbgrader would leave some of a mark scheme to students."""
    if not safe:
        msg = f"{path}: a mark scheme may only stand in a locked cell that has an id."
        raise CourseError(msg)
    known, meant = _EXACT.findall(cell.source), _MEANT.findall(cell.source)
    if not known == meant == [*SCHEME] * (len(known) // 2):
        msg = f"{path}: a mark scheme stands between lines ### {SCHEME[0]} and ### {SCHEME[1]}."
        raise CourseError(msg)
    if cell.get("attachments"):
        msg = f"{path}: a picture in a cell with a mark scheme reaches students; move it."
        raise CourseError(msg)


def _is_named(cell: Any) -> bool:
    return bool(cell.metadata.get("nbgrader"))


def _is_check(cell: Any) -> bool:
    told = cell.metadata.get("nbgrader") or {}
    return bool(told.get("grade") and not told.get("solution") and cell.cell_type == "code")


def _told(told: Mapping[str, Any], points: Mapping[str, float]) -> dict[str, Any]:
    """Return nbgrader's metadata of one cell, complete, with the points of its exercise."""
    kept = {
        "grade": bool(told.get("grade")),
        "grade_id": told["grade_id"],
        "locked": bool(told.get("locked")),
        "schema_version": 3,
        "solution": bool(told.get("solution")),
        "task": bool(told.get("task")),
    }
    if kept["grade"] or kept["task"]:
        by_hand = kept["solution"] or kept["task"]
        kept["points"] = float(told["points"] if by_hand else points[told["grade_id"]])
    return kept
