"""Reads the cells of a notebook without a kernel, and cells that write into the module.

It uses ``json`` instead of nbformat, which takes 1.1 s to import (``json``: 0.02 s) and refuses
notebooks that students really have: with a missing ``metadata``, with a cell without ``source``, or
with a byte order mark.

In the student's kernel, a cell that begins with ``%%exercise NAME`` replaced a definition of the
module. Here the released stub, without these definitions, takes the place of the notebook's first
cell, and the cells follow.
"""

import ast
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from autograder.course import Stage
from autograder.submission.files import UnusableFile, read_regular

_KINDS = ("code", "markdown", "raw")
MAX_NOTEBOOK = 16 * 2**20  # bytes; saved outputs may hold pictures
MAX_CELLS = 2000
MAX_CODE = 2**20  # bytes of all code cells, as for a module
# 16 MiB of "{}," would become half a gigabyte of objects. The largest plots have about 10,000.
MAX_CONTAINERS = 500_000


def code_cells(data: bytes, label: str) -> tuple[bytes, ...]:
    """Return the sources of the code cells in UTF-8; raise ``UnusableFile`` if that fails.

    Accepts nbformat 4, 3 and 2. Magics stay in the source.
    """
    code = [cell for cell in _parse_cells(data, label) if cell.get("cell_type") == "code"]
    cells = tuple(map(_source, code[: MAX_CELLS + 1]))
    if len(cells) > MAX_CELLS or sum(map(len, cells)) > MAX_CODE:
        raise UnusableFile(
            f"{label} contains more than {MAX_CELLS} code cells or {MAX_CODE // 1024:,} KiB of "
            "code and was not read. Submit the exercises only."
        )
    if not any(cell.strip() for cell in cells):
        raise UnusableFile(
            f"{label} contains no code. Write your solution into code cells and save the notebook."
        )
    return cells


def student_cells(data: bytes, label: str) -> list[dict[str, Any]]:
    """Return what every cell holds, by its key in a notebook, or raise ``UnusableFile``.

    Each kind is ``code``, ``markdown`` or ``raw``. Metadata, attachments and outputs come from the
    student, so their values may have any type.
    """
    return [
        {
            "cell_type": kind if (kind := cell.get("cell_type")) in _KINDS else "raw",
            "source": _source(cell).decode(),
            "metadata": metadata if isinstance(metadata := cell.get("metadata"), dict) else {},
            "attachments": cell.get("attachments"),
            "outputs": cell.get("outputs"),
        }
        for cell in _parse_cells(data, label)[:MAX_CELLS]
    ]


def saved_cells(file: Path) -> list[dict[str, Any]]:
    """Return the cells of the notebook *file*, as ``student_cells``; none if it can't be read."""
    try:
        return student_cells(read_regular(file, MAX_NOTEBOOK), file.name)
    except UnusableFile:
        return []


def cell_name(cell: Mapping[str, Any]) -> str:
    """Return nbgrader's name of *cell*, or "" if its metadata has none or is malformed."""
    facts = cell["metadata"].get("nbgrader")
    name = facts.get("grade_id") if isinstance(facts, dict) else None
    return name if isinstance(name, str) else ""


def _parse_cells(data: bytes, label: str) -> list[dict[str, Any]]:
    """Return every cell that is a JSON object, from ``cells`` or from the older ``worksheets``."""
    if data.count(b"[") + data.count(b"{") > MAX_CONTAINERS:
        raise UnusableFile(
            f"{label} contains too much besides code. Clear all outputs, save the notebook, and "
            "submit it again."
        )
    # "replace" keeps everything around an invalid byte; strict=False allows raw line breaks.
    text = data.decode(json.detect_encoding(data), "replace")
    decoder = json.JSONDecoder(
        strict=False, parse_int=_no_number, parse_float=_no_number, parse_constant=_no_number
    )
    try:
        holders = _objects([decoder.decode(text)])
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UnusableFile(
            f"{label} is not a notebook: its JSON can't be read ({reason}). "
            "Open it in Jupyter, save it, and submit it again."
        ) from error
    if holders and "cells" not in holders[0]:
        holders = _objects(holders[0].get("worksheets"))
    return [cell for holder in holders for cell in _objects(holder.get("cells"))]


def _no_number(_digits: str) -> None:
    """Replace a number, because none is needed and ``int`` refuses more than 4300 digits."""


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _source(cell: dict[str, Any]) -> bytes:
    source = cell.get("source", cell.get("input", ""))  # `input` until nbformat 3
    lines = source if isinstance(source, list) else [source]
    text = "".join(line for line in lines if isinstance(line, str))
    # A lone surrogate has no UTF-8; the escape \udXXX means the same in a string literal.
    return text.encode("utf-8", "backslashreplace")


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
