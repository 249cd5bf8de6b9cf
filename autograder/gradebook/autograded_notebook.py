"""The notebook that formgrader and feedback show: the instructor's cells, the student's answers.

Whatever was handed in, the result has every graded cell of the master once, under its own name and
with its own text; what students added stays, without outputs, metadata or anything that acts.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from autograder.authoring.lab_notebook import Notebook
from autograder.gradebook.markdown_escape import escape_markdown, safe_images
from autograder.submission.notebook import student_cells

MAX_SOURCE = 64 * 1024  # characters of one code cell
MAX_CELLS = 500  # shown; a lab has some thirty

Cell = dict[str, Any]


class Card(NamedTuple):
    """What stands below a grade cell: the same words for browsers and for terminals."""

    html: str
    text: str


def sanitized(master: Notebook, handed_in: bytes | None, label: str = "") -> Notebook:
    """Lay the student's notebook, *handed_in* as bytes, over *master*.

    None, or no notebook at all, leaves the master with its answers blank. Raises ``Unusable``
    where there are bytes that can't be read.
    """
    cells = [] if handed_in is None else student_cells(handed_in, label)
    return {**copy.deepcopy(master), "cells": list(_merged(master["cells"], cells))}


def with_cards(notebook: Notebook, cards: Mapping[str, Card], whole: Card | None) -> Notebook:
    """Set each card below the grade cell of its name, and *whole* on top where there is one."""
    shown = copy.deepcopy(notebook)
    for cell in shown["cells"]:
        card = cards.get(_name(cell))
        if card is not None and cell["cell_type"] == "code":
            cell["outputs"] = [_output(card)]
    if whole is not None:
        top = _code("# About the whole submission", "about-the-submission")
        shown["cells"].insert(0, {**top, "outputs": [_output(whole)]})
    return shown


def with_module(notebook: Notebook, label: str, source: str) -> Notebook:
    """Show the module that was graded at the end, for whoever reads the answers."""
    text = source[:MAX_SOURCE] + ("\n# … (more)" if len(source) > MAX_SOURCE else "")
    cells = [*notebook["cells"], _code(f"# Handed in: {label}\n\n{text}", "the-module")]
    return {**notebook, "cells": cells}


def unanswered(master: Notebook, notebook: Notebook) -> frozenset[str]:
    """Name the written answers of *notebook* that hold nothing but what stood there before."""
    given = {
        _name(cell): {cell["source"].strip(), escape_markdown(cell["source"]).strip()}
        for cell in master["cells"]
        if _by_hand(cell)
    }
    return frozenset(
        _name(cell)
        for cell in notebook["cells"]
        if _by_hand(cell) and cell["source"].strip() in {"", *given[_name(cell)]}
    )


def tasks(master: Notebook) -> frozenset[str]:
    """Name what is to be done in cells of the student's own."""
    return frozenset(
        _name(cell) for cell in master["cells"] if cell["metadata"].get("nbgrader", {}).get("task")
    )


def _merged(master: list[Cell], cells: list[Cell]) -> Iterator[Cell]:
    """Yield the student's cells in their order, the master's where they belong."""
    named = {_name(cell): cell for cell in master if _name(cell)}
    if not any(_name(cell) in named for cell in cells):  # no lab: the tour, then what there is
        yield from (copy.deepcopy(cell) for cell in master)
        yield from (_plain(cell, number) for number, cell in enumerate(cells[:MAX_CELLS]))
        return
    chosen = _chosen(named, cells)
    placed = {_name(cells[index]) for index in chosen}
    followers = _followers(master, placed)
    tour = {(cell["cell_type"], cell["source"]): cell for cell in master if not _name(cell)}
    yield from (copy.deepcopy(named[name]) for name in followers.get("", ()))
    for index, cell in enumerate(cells):
        if index in chosen:
            yield _restored(named[_name(cell)], cell)
            yield from (copy.deepcopy(named[name]) for name in followers.get(_name(cell), ()))
        elif index < MAX_CELLS:
            plain = _plain(cell, index)
            ours = tour.get((cell["cell_type"], cell["source"]))  # its links and pictures may stay
            yield {**copy.deepcopy(ours), "id": plain["id"]} if ours else plain


def _chosen(named: Mapping[str, Cell], cells: list[Cell]) -> frozenset[int]:
    """Choose one cell for each name: of several the last one in which something was written."""
    best: dict[str, int] = {}
    for index, cell in enumerate(cells):
        name = _name(cell)
        if name in named:
            written = cell["source"].strip() not in {"", named[name]["source"].strip()}
            if name not in best or written:
                best[name] = index
    return frozenset(best.values())


def _followers(master: list[Cell], placed: Iterable[str]) -> dict[str, list[str]]:
    """Say after which cell that is there each missing one belongs; "" is the top."""
    there = set(placed)
    followers: dict[str, list[str]] = {}
    last = ""
    for cell in master:
        name = _name(cell)
        if name in there:
            last = name
        elif name:
            followers.setdefault(last, []).append(name)
    return followers


def _restored(own: Cell, cell: Cell) -> Cell:
    """Return the master's cell *own*, with the student's text where that is the answer."""
    restored = copy.deepcopy(own)
    if own["metadata"]["nbgrader"]["solution"]:
        restored |= _text_of(own["cell_type"], cell)
    return restored


def _plain(cell: Cell, number: int) -> Cell:
    """Return a cell of the student's own; a raw one would be taken for HTML as it stands."""
    kind = "code" if cell["cell_type"] == "code" else "markdown"
    if kind == "code":
        return _code(cell["source"][:MAX_SOURCE], f"student-{number}")
    source = _text_of("markdown", cell)
    return {"cell_type": "markdown", "id": f"student-{number}", "metadata": {}, **source}


def _text_of(kind: str, cell: Cell) -> Cell:
    if kind == "code":
        return {"source": cell["source"][:MAX_SOURCE]}
    images = safe_images(cell.get("attachments"))
    text: Cell = {"source": escape_markdown(cell["source"], images)}
    return text | ({"attachments": images} if images else {})


def _code(source: str, name: str) -> Cell:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": name,
        "metadata": {},
        "outputs": [],
        "source": source,
    }


def _output(card: Card) -> Cell:
    data = {"text/html": card.html, "text/plain": card.text}
    return {"data": data, "metadata": {}, "output_type": "display_data"}


def _name(cell: Mapping[str, Any]) -> str:
    """Return the cell's name; students' notebooks may hold anything there."""
    told = cell["metadata"].get("nbgrader")
    name = told.get("grade_id") if isinstance(told, dict) else None
    return name if isinstance(name, str) else ""


def _by_hand(cell: Mapping[str, Any]) -> bool:
    told = cell["metadata"].get("nbgrader", {})
    return bool(told.get("grade") and told.get("solution"))
