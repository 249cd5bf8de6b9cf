"""The notebook that formgrader and feedback show: the instructor's cells, the student's answers.

Whatever was submitted, the result has every graded cell of the master once, under its own name and
with its own text. Cells that students added stay, without outputs, metadata and active content.
"""

import copy
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from autograder.authoring.lab_notebook import Notebook
from autograder.gradebook.markdown_escape import escape_markdown, safe_images
from autograder.submission.notebook import student_cells

MAX_SOURCE = 64 * 1024  # characters of one code cell
MAX_CELLS = 500  # shown; a lab has about thirty

Cell = dict[str, Any]


class CellOutput(NamedTuple):
    """The feedback shown below a grade cell: the same text for browsers and for terminals."""

    html: str
    text: str


def merge_student_cells(master: Notebook, data: bytes | None, label: str = "") -> Notebook:
    """Return *master* with the answers and the own cells of the student's notebook *data*.

    None, or no notebook at all, leaves the master with blank answers. Raises ``UnusableFile``
    where *data*, the file called *label*, can't be read.
    """
    cells = [] if data is None else student_cells(data, label)
    return {**copy.deepcopy(master), "cells": list(_merged_cells(master["cells"], cells))}


def add_outputs(
    notebook: Notebook, outputs: Mapping[str, CellOutput], overall: CellOutput | None
) -> Notebook:
    """Set each output below the grade cell of its name, and *overall* on top if there is one."""
    shown = copy.deepcopy(notebook)
    for cell in shown["cells"]:
        output = outputs.get(_name(cell))
        if output is not None and cell["cell_type"] == "code":
            cell["outputs"] = [_display_data(output)]
    if overall is not None:
        top = _code_cell("# About the whole submission", "about-the-submission")
        shown["cells"].insert(0, {**top, "outputs": [_display_data(overall)]})
    return shown


def append_module(notebook: Notebook, label: str, source: str) -> Notebook:
    """Show the graded module at the end, for the instructor who grades the answers."""
    text = source[:MAX_SOURCE] + ("\n# … (more)" if len(source) > MAX_SOURCE else "")
    cells = [*notebook["cells"], _code_cell(f"# Handed in: {label}\n\n{text}", "the-module")]
    return {**notebook, "cells": cells}


def unanswered(master: Notebook, notebook: Notebook) -> frozenset[str]:
    """Name the answer cells of *notebook* that hold nothing but what *master* has there."""
    given = {
        _name(cell): {cell["source"].strip(), escape_markdown(cell["source"]).strip()}
        for cell in master["cells"]
        if _is_graded_answer(cell)
    }
    return frozenset(
        _name(cell)
        for cell in notebook["cells"]
        if _is_graded_answer(cell) and cell["source"].strip() in {"", *given[_name(cell)]}
    )


def tasks(master: Notebook) -> frozenset[str]:
    """Name the tasks, which students answer in cells of their own."""
    return frozenset(
        _name(cell) for cell in master["cells"] if cell["metadata"].get("nbgrader", {}).get("task")
    )


def _merged_cells(master: list[Cell], cells: list[Cell]) -> Iterator[Cell]:
    """Yield the student's cells in their order, and the named cells of *master* in their places."""
    named = {_name(cell): cell for cell in master if _name(cell)}
    if not any(_name(cell) in named for cell in cells):  # no lab: it is shown below the master
        yield from (copy.deepcopy(cell) for cell in master)
        yield from (_own_cell(cell, number) for number, cell in enumerate(cells[:MAX_CELLS]))
        return
    answers = _answer_indices(named, cells)
    followers = _missing_names(master, {_name(cells[index]) for index in answers})
    lessons = {(cell["cell_type"], cell["source"]): cell for cell in master if not _name(cell)}
    yield from (copy.deepcopy(named[name]) for name in followers.get("", ()))
    for index, cell in enumerate(cells):
        if index in answers:
            yield _master_cell(named[_name(cell)], cell)
            yield from (copy.deepcopy(named[name]) for name in followers.get(_name(cell), ()))
        elif index < MAX_CELLS:
            own = _own_cell(cell, index)
            lesson = lessons.get((cell["cell_type"], cell["source"]))  # keeps links and pictures
            yield {**copy.deepcopy(lesson), "id": own["id"]} if lesson else own


def _answer_indices(named: Mapping[str, Cell], cells: list[Cell]) -> frozenset[int]:
    """Choose one cell for each name: of several, the last one in which something was written."""
    best: dict[str, int] = {}
    for index, cell in enumerate(cells):
        name = _name(cell)
        if name in named:
            written = cell["source"].strip() not in {"", named[name]["source"].strip()}
            if name not in best or written:
                best[name] = index
    return frozenset(best.values())


def _missing_names(master: list[Cell], present: Collection[str]) -> dict[str, list[str]]:
    """Return the missing names by the present name that they follow; "" is the top."""
    missing: dict[str, list[str]] = {}
    last = ""
    for cell in master:
        name = _name(cell)
        if name in present:
            last = name
        elif name:
            missing.setdefault(last, []).append(name)
    return missing


def _master_cell(master: Cell, cell: Cell) -> Cell:
    """Return the *master* cell, with the text of the student's *cell* if it is an answer."""
    merged = copy.deepcopy(master)
    if master["metadata"]["nbgrader"]["solution"]:
        merged |= _sanitized_text(master["cell_type"], cell)
    return merged


def _own_cell(cell: Cell, number: int) -> Cell:
    """Return a cell that the student added; a raw one becomes Markdown, as it would be HTML."""
    if cell["cell_type"] == "code":
        return _code_cell(cell["source"][:MAX_SOURCE], f"student-{number}")
    text = _sanitized_text("markdown", cell)
    return {"cell_type": "markdown", "id": f"student-{number}", "metadata": {}, **text}


def _sanitized_text(kind: str, cell: Cell) -> Cell:
    if kind == "code":
        return {"source": cell["source"][:MAX_SOURCE]}
    images = safe_images(cell.get("attachments"))
    text: Cell = {"source": escape_markdown(cell["source"], images)}
    return text | ({"attachments": images} if images else {})


def _code_cell(source: str, name: str) -> Cell:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": name,
        "metadata": {},
        "outputs": [],
        "source": source,
    }


def _display_data(output: CellOutput) -> Cell:
    data = {"text/html": output.html, "text/plain": output.text}
    return {"data": data, "metadata": {}, "output_type": "display_data"}


def _name(cell: Mapping[str, Any]) -> str:
    """Return the cell's name; a student's notebook may hold anything in its place."""
    facts = cell["metadata"].get("nbgrader")
    name = facts.get("grade_id") if isinstance(facts, dict) else None
    return name if isinstance(name, str) else ""


def _is_graded_answer(cell: Mapping[str, Any]) -> bool:
    facts = cell["metadata"].get("nbgrader", {})
    return bool(facts.get("grade") and facts.get("solution"))
