"""Reads the cells of a notebook without a kernel.

It uses ``json`` instead of nbformat, which takes 1.1 s to import (``json``: 0.02 s) and refuses
notebooks that students really have: with a missing ``metadata``, with a cell without ``source``, or
with a byte order mark.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
        msg = (
            f"{label} contains more than {MAX_CELLS} code cells or {MAX_CODE // 1024:,} KiB of "
            "code and was not read. Submit the exercises only."
        )
        raise UnusableFile(msg)
    if not any(cell.strip() for cell in cells):
        msg = (
            f"{label} contains no code. Write your solution into code cells and save the notebook."
        )
        raise UnusableFile(msg)
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
        msg = (
            f"{label} contains too much besides code. Clear all outputs, save the notebook, and "
            "submit it again."
        )
        raise UnusableFile(msg)
    # "replace" keeps everything around an invalid byte; strict=False allows raw line breaks.
    text = data.decode(json.detect_encoding(data), "replace")
    decoder = json.JSONDecoder(
        strict=False, parse_int=_no_number, parse_float=_no_number, parse_constant=_no_number
    )
    try:
        holders = _objects([decoder.decode(text)])
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        msg = (
            f"{label} is not a notebook: its JSON can't be read ({reason}). "
            "Open it in Jupyter, save it, and submit it again."
        )
        raise UnusableFile(msg) from error
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
