"""Finds definitions in a module's text, and reads labs whose cells begin with ``%%exercise NAME``.

In the student's kernel each such cell replaced a definition of the module. Here the released stub,
without these definitions, takes the place of the notebook's first cell, and the cells follow.
"""

import ast
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from autograder.course import Stage

DEFINITION: Final = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# Not `splitlines`, which also ends a line at a form feed or inside a string at U+2028.
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def lines_of(text: str) -> list[str]:
    """Split *text* into lines as Python counts them; each keeps its line break."""
    return _LINE.findall(text)


def lines_of_node(node: ast.stmt) -> tuple[int, int]:
    """Return the first and last line of a statement, decorators included."""
    decorators = node.decorator_list if isinstance(node, DEFINITION) else []
    first = min([node.lineno, *(one.lineno for one in decorators)])
    return first, node.end_lineno or node.lineno


def definition_in(text: str, name: str) -> str:
    """Return the last definition of *name* in *text*, decorators included; "" without one."""
    span = span_of(text, name)
    return "".join(lines_of(text)[span[0] - 1 : span[1]]) if span else ""


def span_of(text: str, name: str) -> tuple[int, int] | None:
    """Return the first and last line of the last definition of *name*, decorators included."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in reversed(body):  # Python uses the last definition
        if isinstance(node, DEFINITION) and node.name == name:
            return lines_of_node(node)
    return None


MAGIC: Final = "exercise"
# The first line of the cell with which a lab in a browser begins.
OPENING: Final = "# Run this cell first: it installs the course and makes your folder."
BADGE: Final = "[![Open in Colab]"  # begins the text on top of such a lab
_CELL: Final = re.compile(rb"\s*%%exercise[ \t]+(['\"]?)(?P<name>\w+)\1[ \t]*(?:\r?\n|\Z)")


def exercise_of(cell: bytes) -> str:
    """Return the exercise that *cell* writes; "" for any other cell."""
    found = _CELL.match(cell)
    return found["name"].decode("utf-8", "replace") if found else ""


def exercise_cell(stub: str, exercise: str) -> str:
    """Return the cell that writes *exercise*, with its definition in *stub*; "" without one."""
    text = definition_in(stub, exercise)
    return f"%%{MAGIC} {exercise}\n{text.rstrip()}" if text else ""


def released_cells(stage: Stage) -> set[bytes]:
    """Return the cells, without outer spaces, that a lab in a browser has for the exercises."""
    stub = stage.stub.read_text("utf-8")
    return {exercise_cell(stub, one.name).encode() for one in stage.exercises}


def is_opening(cell: bytes) -> bool:
    """Whether *cell* is the cell that installs the course."""
    return cell.lstrip().startswith(OPENING.encode())


def is_for_browser(cell: bytes) -> bool:
    """Whether only labs for a browser have *cell*: an exercise, the badge, or the opening."""
    return bool(exercise_of(cell)) or is_opening(cell) or cell.startswith(BADGE.encode())


def as_module(
    stage: Stage, cells: Sequence[bytes], given: Collection[int]
) -> tuple[bytes, ...] | None:
    """Return *cells* with the stub in place of the lab's own code; None without exercise cells.

    *given* are the numbers of the cells that the student received, counted from 1. Each cell keeps
    its number unless the first one is an exercise. Plain cells stay only if they define exercises
    that no exercise cell writes.
    """
    own = {number: cell for number, cell in enumerate(cells, 1) if number not in given}
    names = [one.name for one in stage.exercises]
    written = {number: exercise_of(cell) for number, cell in own.items()}
    found = set(names).intersection(written.values())
    if not found:
        return None
    plain = {number: cell for number, cell in own.items() if not written[number]}
    others = {name for name in names if name not in found and defines(plain.values(), [name])}
    kept = {number: cell for number, cell in own.items() if written[number] in found}
    if others:
        kept |= {number: one for number, one in plain.items() if not defines([one], found)}
    base = _without(stage.stub.read_text("utf-8"), [*found, *others]).encode()
    placed = tuple(kept.get(number, b"") for number in range(1, len(cells) + 1))
    return (base, *placed) if placed[0] else (base, *placed[1:])


def _without(stub: str, names: Collection[str]) -> str:
    lines = lines_of(stub)
    spans = [span for name in names if (span := span_of(stub, name))]
    for first, last in sorted(spans, reverse=True):
        del lines[first - 1 : last]
    return "".join(lines)


def defines(cells: Iterable[bytes], names: Iterable[str]) -> bool:
    """Whether some cell defines one of *names* at the beginning of a line."""
    definition = rf"^(?:async[ \t]+)?(?:def|class)[ \t]+(?:{'|'.join(map(re.escape, names))})\b"
    return any(re.search(definition.encode(), cell, re.MULTILINE) for cell in cells)
