"""Estimates the minutes and the difficulty of each exercise, so that stages can be compared.

The figures depend on the words that a student reads for the exercise, in the lab and in the stub,
and on the statements of the solution. Code cells of a lab do not count, because students only run
them.
"""

import ast
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from autograder.authoring import stubs
from autograder.authoring.lab_notebook import SCHEME
from autograder.course import Stage
from autograder.course_file import Effort, StageEffort

WORDS_A_MINUTE: Final = 200
EASY: Final = 6  # statements that take half a minute each; each further one takes a minute
MEDIUM: Final = 12  # the most statements of an exercise with two of three marks
ANSWER_MINUTES: Final = 5.0  # for each written answer
_WORD: Final = re.compile(r"[^\W\d_]+(?:['-]\w+)*")
_Cell = dict[str, Any]


def measure(stage: Stage, stub: str) -> StageEffort:
    """Return the figures of *stage*, from its solution, its lab and the text of its *stub*.

    Text after the last exercise counts for the stage but for no exercise.
    """
    names = [exercise.name for exercise in stage.exercises]
    cells = _cells(stage.lab)
    words = _words_of_stub(stub, names)
    rest = 0
    for name, count in _words_of_lab(cells, names):
        if name:
            words[name] += count
        else:
            rest = count
    statements = _statements(stage.solution.read_text("utf-8"), stage.module, names)
    minutes = {
        name: words[name] / WORDS_A_MINUTE + _writing_minutes(statements[name]) for name in names
    }
    answers = ANSWER_MINUTES * sum(map(_is_answer, cells))
    reading = (sum(words.values()) + rest) / WORDS_A_MINUTE
    total = sum(minutes.values()) + rest / WORDS_A_MINUTE + answers
    exercises = {
        name: Effort(_whole(minutes[name]), difficulty(statements[name])) for name in names
    }
    return StageEffort(_whole(total), _whole(reading), exercises)


def encode(effort: StageEffort) -> bytes:
    """Return *effort* as the file that students receive."""
    return msgspec.json.format(msgspec.json.encode(effort), indent=2) + b"\n"


def difficulty(statements: int) -> int:
    """Return one to three marks for a solution with this number of *statements*."""
    return 1 if statements <= EASY else 2 if statements <= MEDIUM else 3


def _writing_minutes(statements: int) -> float:
    return 0.5 * min(statements, EASY) + max(0, statements - EASY)


def _whole(minutes: float) -> int:
    return max(1, round(minutes))


def _cells(lab: Path) -> list[_Cell]:
    """Return the cells of *lab*; none if it is not a notebook, which ``lab_notebook`` reports."""
    try:
        cells = json.loads(lab.read_bytes())["cells"]
        return [cell for cell in cells if {"cell_type", "source"} <= cell.keys()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _words(text: str) -> int:
    return len(_WORD.findall(text))


def _words_of_stub(stub: str, names: Sequence[str]) -> dict[str, int]:
    """Count the words of each exercise in *stub*; the module's docstring belongs to the first."""
    tree = ast.parse(stub)
    found = {node.name: node for node in tree.body if isinstance(node, stubs.Definition)}
    words = {
        name: _words(ast.get_source_segment(stub, found[name]) or "") if name in found else 0
        for name in names
    }
    words[names[0]] += _words(ast.get_docstring(tree) or "")
    return words


def _words_of_lab(cells: Sequence[_Cell], names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the number of words above each grade cell; the name of the last text is empty."""
    count = 0
    for cell in cells:
        if cell["cell_type"] == "markdown":
            text, _, _ = "".join(cell["source"]).partition(SCHEME[0])
            count += _words(text)
        elif (name := _metadata(cell).get("grade_id")) in names:
            yield str(name), count
            count = 0
    yield "", count


def _statements(solution: str, module: str, names: Sequence[str]) -> dict[str, int]:
    """Count the statements that a student writes for each exercise."""
    regions = stubs.regions(solution, module)
    written = [range(region.first, region.last) for region in regions]
    return dict.fromkeys(names, 0) | {
        node.name: sum(
            isinstance(part, ast.stmt) and any(part.lineno in lines for lines in written)
            for part in ast.walk(node)
        )
        for node in ast.parse(solution).body
        if isinstance(node, stubs.Definition) and node.name in names
    }


def _is_answer(cell: _Cell) -> bool:
    metadata = _metadata(cell)
    return bool(metadata.get("grade") and metadata.get("solution"))


def _metadata(cell: _Cell) -> _Cell:
    return cell.get("metadata", {}).get("nbgrader") or {}
