"""Builds the versions of a stage's lab, for instructors and for students.

nbgrader's own preprocessors build the students' version. Only the hidden suite decides the points
of an exercise.
"""

import json
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from autograder.course import duplicates
from autograder.errors import CourseError

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
FORBIDDEN_MARKERS = ("BEGIN SOLUTION", "BEGIN HIDDEN TESTS", "AUTOTEST")
SCHEME = ("BEGIN MARK SCHEME", "END MARK SCHEME")
_EXACT = re.compile("|".join(SCHEME))  # as nbgrader recognizes it, anywhere in a line
_SIMILAR = re.compile(
    r"^\W*#[\W_]*((?:begin|end)[\W_]*mark[\W_]*scheme)", re.IGNORECASE | re.MULTILINE
)
_MODEL_ANSWER = re.compile(r'lab\.model_answer\("[^"]*"\)')

Notebook = dict[str, Any]


def build_source_lab(path: Path, points: Mapping[str, float]) -> bytes:
    """Return the authored lab at *path* in its normal form.

    *points* maps each exercise to its points. Outputs and the metadata of editors are removed.
    Raises ``CourseError`` if a grade cell is missing, occurs twice, or does not belong to an
    exercise.
    """
    import nbformat  # noqa: PLC0415  # takes one second, and only building needs it

    try:
        with warnings.catch_warnings(action="ignore"):  # cell ids are replaced below
            notebook = nbformat.reads(path.read_text("utf-8"), as_version=4)
        notebook.nbformat, notebook.nbformat_minor = 4, 5
        for number, cell in enumerate(notebook.cells):
            cell.id = f"cell-{number:02}"
        nbformat.validate(notebook)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise CourseError(f"{path} is not a notebook of format 4: {reason}") from error
    for problem in _problems(path, notebook.cells, points):
        raise CourseError(problem)
    for cell in notebook.cells:
        given = cell.metadata.get("nbgrader")
        cell.metadata = {"nbgrader": _nbgrader_metadata(given, points)} if given else {}
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    return encode(notebook)


def build_student_lab(text: bytes, *, written: bool = True) -> bytes:
    """Return the students' version of the lab *text*, with or without *written* questions."""
    steps = ("ClearHiddenTests", "ClearMarkScheme", "ComputeChecksums")
    return encode(_preprocess(instructor_notebook(text, written=written), *steps))


def instructor_notebook(text: bytes, *, written: bool = True) -> Notebook:
    """Return the lab with its mark schemes; without *written*, it lacks the written questions."""
    import nbformat  # noqa: PLC0415  # takes one second, and only building needs it

    notebook = nbformat.reads(text.decode(), as_version=4)
    if not written:
        notebook.cells = [cell for cell in notebook.cells if not _is_question_or_answer(cell)]
    steps = ("LockCells", "ClearSolutions", "ClearOutput", "ComputeChecksums")
    made: Notebook = _preprocess(notebook, *steps)
    return made


def _is_question_or_answer(cell: Any) -> bool:
    if _MODEL_ANSWER.fullmatch(cell.source.strip()):
        return True
    metadata = _metadata(cell)
    if not metadata:
        return False
    is_by_hand = metadata.get("solution") or metadata.get("task")
    return bool(is_by_hand or cell.cell_type == "markdown")


def grade_cell_points(notebook: Notebook) -> dict[str, float]:
    """Return the points of each grade cell of *notebook* that the autograder grades, in order."""
    metadata = (cell["metadata"].get("nbgrader", {}) for cell in notebook["cells"])
    return {
        cell["grade_id"]: cell["points"]
        for cell in metadata
        if cell.get("grade") and not cell["solution"]
    }


def decode(data: bytes) -> Notebook:
    """Decode a notebook from ``encode`` as JSON, because nbformat would validate it slowly."""
    notebook: Notebook = json.loads(data)
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])  # it is stored line by line
    return notebook


def encode(notebook: Any) -> bytes:
    """Encode *notebook* without indentation, a tenth of its size; equal ones give equal bytes."""
    import nbformat  # noqa: PLC0415  # takes one second, and only building needs it

    text = nbformat.writes(nbformat.from_dict(notebook), version=nbformat.NO_CONVERT)
    text = json.dumps(json.loads(text), ensure_ascii=False, indent=0, separators=(",", ": "))
    return (text + "\n").encode()


def _preprocess(notebook: Any, *steps: str) -> Any:
    from nbgrader import preprocessors  # noqa: PLC0415  # takes two seconds, and only building needs it

    for name in steps:
        step = getattr(preprocessors, name)()
        if hasattr(step, "enforce_metadata"):
            step.enforce_metadata = False  # a locked question may hold a mark scheme
        notebook, _ = step.preprocess(notebook, {})
    return notebook


def _problems(path: Path, cells: Sequence[Any], points: Mapping[str, float]) -> Iterator[str]:
    """Yield the errors in the lab at *path*; later ones may be consequences of the first."""
    for number, cell in enumerate(cells, start=1):
        for problem in chain(_metadata_problems(number, cell), _content_problems(cell, points)):
            yield f"{path}: {problem}"
    names = [metadata["grade_id"] for cell in cells if (metadata := _metadata(cell))]
    for duplicate in duplicates(names):
        yield f"{path}: two cells are named {duplicate!r}."
    graded = [_metadata(cell)["grade_id"] for cell in cells if _is_grade_cell(cell)]
    for name in points:
        if name not in graded:
            yield f'{path} has no grade cell for {name}: add lab.check("{name}").'


def _metadata_problems(number: int, cell: Any) -> Iterator[str]:
    """Yield the errors in the metadata of *cell* that hide its role or points from nbgrader."""
    metadata = _metadata(cell)
    if not metadata:
        return
    name = metadata.get("grade_id") if isinstance(metadata, dict) else None
    if not (isinstance(name, str) and name):
        yield f"cell {number} has nbgrader's metadata, but no grade_id in them."
    if _is_grade_cell(cell) or not (metadata.get("grade") or metadata.get("task")):
        return
    if not (metadata.get("solution") or metadata.get("task")):
        yield f"the cell {name!r} is graded by hand, so students must write in it."
    points = metadata.get("points")
    if not (isinstance(points, int | float) and 0 <= points < math.inf):
        yield f"the cell {name!r} is graded by hand, but its points are {points!r}."


def _content_problems(cell: Any, points: Mapping[str, float]) -> Iterator[str]:
    metadata = _metadata(cell)
    name = metadata.get("grade_id", "")
    for marker in FORBIDDEN_MARKERS:
        if marker in cell.source:
            yield f"remove {marker!r} from the lab; solutions belong only in solutions/."
    exact, similar = _EXACT.findall(cell.source), _SIMILAR.findall(cell.source)
    if exact or similar:  # nbgrader must remove a mark scheme completely
        if not (name and metadata.get("locked")):
            yield "a mark scheme may only be in a locked cell that has an id."
        if not exact == similar == [*SCHEME] * (len(exact) // 2):
            yield f"put the mark scheme between lines ### {SCHEME[0]} and ### {SCHEME[1]}."
        if cell.get("attachments"):
            yield "students would receive the picture in a cell with a mark scheme; move it."
    if _is_grade_cell(cell) and name not in points:
        yield f"the grade cell {name!r} belongs to no exercise of stage.toml."
    if _is_grade_cell(cell) and cell.source.strip() != f'lab.check("{name}")':
        yield f'the grade cell {name} must hold lab.check("{name}") and nothing else.'


def _metadata(cell: Any) -> Any:
    return cell.metadata.get("nbgrader") or {}


def _is_grade_cell(cell: Any) -> bool:
    metadata = _metadata(cell)
    return bool(metadata.get("grade") and not metadata.get("solution") and cell.cell_type == "code")


def _nbgrader_metadata(given: Mapping[str, Any], points: Mapping[str, float]) -> dict[str, Any]:
    """Return the author's metadata of one cell, completed with the points of its exercise."""
    flags = {flag: bool(given.get(flag)) for flag in ("grade", "locked", "solution", "task")}
    metadata = {"grade_id": given["grade_id"], "schema_version": 3} | flags
    if metadata["grade"] or metadata["task"]:
        by_hand = metadata["solution"] or metadata["task"]
        metadata["points"] = float(given["points"] if by_hand else points[given["grade_id"]])
    return metadata
