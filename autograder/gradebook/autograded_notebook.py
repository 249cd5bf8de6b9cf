"""Merges the instructor's cells and the student's answers into the notebook for formgrader.

For every submission, the result has each graded cell of the master once, under its own name and
with its own text. Cells that students added stay, without outputs, metadata and active content.

Formgrader and feedback render Markdown with raw HTML and with links of any scheme, in the origin
that holds the instructor's Jupyter token. In a student's Markdown nothing is removed or parsed: a
word joiner, which has no width, is put into each opening of a link, of HTML or of an active
formula, in code and formulas too. Therefore differences between Markdown parsers cannot let active
content through.
"""

import copy
import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from autograder.authoring.lab_notebook import Notebook
from autograder.submission.notebook import student_cells

MAX_SOURCE = 64 * 1024  # characters of one code cell
MAX_CELLS = 500  # shown; a lab has about thirty
MODULE_CELL = "the-module"  # the id of the cell that shows it

Cell = dict[str, Any]

JOINER = "\N{WORD JOINER}"
MAX_TEXT = 64 * 1024  # characters of one cell of Markdown; an essay has ten thousand
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif"})  # no SVG: it can hold scripts
MAX_IMAGE = 4 * 2**20  # characters of base64

# `<script`, `</p`, `<!--`, `<?`: all markup of HTML begins so, and nothing else does.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_ENTITY = re.compile(r"&(?=[#A-Za-z])")  # `&#60;` would become `<`, or a backslash
_ADDRESS = re.compile(r":(?=//)|(?<![\w:.-])www(?=\.)|@(?=\w)", re.IGNORECASE)  # become links
_DIAGRAM = re.compile(r"(?:```|~~~)\s*m(?=ermaid)", re.IGNORECASE)  # drawn by a script
# A heading's text becomes its id, and formgrader finds the box for a grade by such an id.
_HEADING = re.compile(r"(?<!#)#{1,6}(?!#)[ \t]*(?=\S)")
_UNDERLINED = re.compile(r"\S(?=[ \t]*[\r\n]+[ \t>]*(?:=+|-+)[ \t]*(?:[\r\n]|\Z))")
# The commands that MathJax turns into links, attributes or new commands.
_COMMAND = re.compile(
    r"\\(?=href|url|style|class|cssId|data|require|unicode|def|gdef|edef|xdef|let|newcommand"
    r"|renewcommand|newenvironment|renewenvironment|DeclareMathOperator|html|special|input|include"
    r"|csname|catcode|mmlToken|toggle|action|bbox|texttip|mathtip|tooltip|begingroup)"
)
_NAME = r"[A-Za-z0-9_.\-]{1,200}"  # the same in an address
# `![text](attachment:name)`, then `](url)` and `]: url`.
_LINK = re.compile(rf"(?<!\\)!\[[^\[\]]*\]\(attachment:(?P<name>{_NAME})\)|\](?=[(:])")


class CellOutput(NamedTuple):
    """The feedback shown below a grade cell: the same text for browsers and for terminals."""

    html: str
    text: str


def merge_student_cells(master: Notebook, data: bytes | None, label: str = "") -> Notebook:
    """Return *master* with the answers and the added cells of the student's notebook *data*.

    Without a notebook, the answers of the master stay blank. Raises ``UnusableFile`` where *data*,
    the file called *label*, can't be read.
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
    cells = [*notebook["cells"], _code_cell(f"# Submitted: {label}\n\n{text}", MODULE_CELL)]
    return {**notebook, "cells": cells}


def unanswered(master: Notebook, notebook: Notebook) -> frozenset[str]:
    """Name the answer cells of *notebook* that hold only the text of *master*."""
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


def changed_cells(before: Notebook, after: Notebook) -> frozenset[str]:
    """Name the graded cells of *after* for which the student's answer differs from *before*.

    An answer changed if its text did; an exercise, which may use any code, if any code changed.
    """
    old, new = _graded_texts(before), _graded_texts(after)
    own = {name for name, text in new.items() if old.get(name) != text}
    if _code(before) == _code(after):
        return frozenset(own)
    return frozenset(own | {_name(cell) for cell in after["cells"] if _is_exercise(cell)})


def _graded_texts(notebook: Notebook) -> dict[str, object]:
    """Return the graded answers with their pictures, by name."""
    return {
        _name(cell): (cell["source"], cell.get("attachments"))
        for cell in notebook["cells"]
        if _is_graded_answer(cell)
    }


def _code(notebook: Notebook) -> list[str]:
    cells = notebook["cells"]
    return [
        cell["source"]
        for cell in cells
        if cell["cell_type"] == "code" and not _is_graded_answer(cell)
    ]


def _is_exercise(cell: Mapping[str, Any]) -> bool:
    facts = cell["metadata"].get("nbgrader", {})
    return bool((facts.get("grade") or facts.get("task")) and not facts.get("solution"))


def tasks(master: Notebook) -> frozenset[str]:
    """Name the tasks, which students answer in their own cells."""
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
    """Choose one cell for each name: if there are several, the last one with an answer."""
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


def escape_markdown(text: str, images: Collection[str] = ()) -> str:
    """Return *text* so that no viewer finds HTML, a link or an active formula in it.

    Pictures stay if they are attached under one of the names *images*: nbconvert fails on a page
    where one is missing.
    """
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n\n… (of {len(text):,} characters)"
    text = _LINK.sub(partial(_disable_link, images), text)
    for opening in (_TAG, _ENTITY, _ADDRESS, _DIAGRAM, _HEADING, _UNDERLINED, _COMMAND):
        text = opening.sub(rf"\g<0>{JOINER}", text)
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _disable_link(images: Collection[str], match: re.Match[str]) -> str:
    whole = match[0]
    return whole if match["name"] in images else whole.replace("]", f"]{JOINER}")


def safe_images(attachments: Any) -> dict[str, dict[str, str]]:
    """Return the attachments of a cell that are pictures without active content."""
    if not isinstance(attachments, dict):
        return {}
    kept: dict[str, dict[str, str]] = {}
    for name, forms in attachments.items():
        if isinstance(forms, dict) and re.fullmatch(_NAME, name):
            images = {kind: data for kind, data in forms.items() if _is_image(kind, data)}
            if images:
                kept[name] = images
    return kept


def _is_image(kind: str, data: object) -> bool:
    return (
        kind in IMAGES
        and isinstance(data, str)
        and len(data) <= MAX_IMAGE
        and re.fullmatch(r"[A-Za-z0-9+/=\n]*", data) is not None
    )
