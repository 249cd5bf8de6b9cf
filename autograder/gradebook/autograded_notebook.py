"""Merges the instructor's cells and the student's answers into one notebook for formgrader.

Every merged notebook contains each graded cell of the master exactly once, under its own name and
with its own text. Cells that a student added are kept, but their outputs, metadata and active
content are removed.

Formgrader and the feedback pages render raw HTML and links of any scheme, in the origin that holds
the instructor's Jupyter token. A student's Markdown is not parsed, and nothing in it is removed.
Instead, a word joiner, which has no width, is inserted wherever a link, HTML or an active formula
begins, even in code and in formulas. Therefore differences between Markdown parsers cannot let
active content through.
"""

import copy
import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from autograder.authoring import lab_notebook
from autograder.authoring.lab_notebook import Notebook
from autograder.submission.notebook import cell_name, student_cells

IMAGES: Final = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif"}
# No SVG, which can contain scripts.
MAX_IMAGE: Final = 4 * 2**20  # characters of base64
ATTACHMENT: Final = r"[A-Za-z0-9_.\-]{1,200}"  # characters that an address does not escape

# Every quantifier is bounded or possessive, so that no text takes more than linear time.
_URI: Final = (
    r"data:(?P<kind>image/[\w.+-]{1,40})(?:;[\w=-]{1,40}){0,5};base64,(?P<data>[\w+/=%-]*+)"
)
_SHOWN: Final = (  # a picture in Markdown, and one in HTML
    re.compile(
        rf"!\[[^\[\]]{{0,500}}\]\([ ]?<?{_URI}>?[ ]?(?:\"[^\"]{{0,200}}\")?[ ]?\)", re.IGNORECASE
    ),
    re.compile(rf"<img\b[^<>]{{0,500}}?\bsrc=[\"']?{_URI}[\"']?[^<>]{{0,500}}>", re.IGNORECASE),
)
_USED: Final = re.compile(r"!\[(?P<alt>[^\[\]]{0,500})\]\[(?P<name>[^\[\]]{0,100})\]")
_DEFINED: Final = re.compile(
    rf"^[ ]{{0,3}}\[(?P<name>[^\[\]]{{1,100}})\]:[ ]?<?{_URI}>?[ ]?$", re.IGNORECASE | re.MULTILINE
)


def attach_pictures(text: str, attachments: Any) -> tuple[str, dict[str, dict[str, str]]]:
    """Return *text* with a reference or a remark for each data URI, and all attachments."""
    images = safe_images(attachments)
    if "data:image/" not in text.lower():
        return text, images

    def attach(found: re.Match[str]) -> str:
        kind, data = found["kind"].lower().replace("/jpg", "/jpeg"), found["data"]
        if not _is_image(kind, data):
            return f"(a picture that can't be shown here, of type {kind})"
        name = f"picture-{len(images) + 1}.{IMAGES[kind]}"
        while name in images:
            name = f"another-{name}"
        images[name] = {kind: data}
        return f"![picture](attachment:{name})"

    defined = {found["name"].lower(): attach(found) for found in _DEFINED.finditer(text)}
    if defined:
        text = _USED.sub(
            lambda use: defined.get((use["name"] or use["alt"]).lower(), use[0]),
            _DEFINED.sub("", text),
        )
    for form in _SHOWN:
        text = form.sub(attach, text)
    return text, images


def safe_images(attachments: Any) -> dict[str, dict[str, str]]:
    """Return the attachments of a cell that are pictures and can't contain active content."""
    if not isinstance(attachments, Mapping):
        return {}
    kept: dict[str, dict[str, str]] = {}
    for name, forms in attachments.items():
        if isinstance(forms, dict) and re.fullmatch(ATTACHMENT, name):
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


MAX_SOURCE = 64 * 1024  # characters of one code cell
MAX_CELLS = 500  # the most student cells that are shown; a lab has about thirty
MODULE_CELL = "the-module"  # the id of the cell that shows the graded module

Cell = dict[str, Any]

JOINER = "\N{WORD JOINER}"
MAX_TEXT = 64 * 1024  # characters of one Markdown cell; an essay has about ten thousand

# All HTML markup begins in one of these ways: `<script`, `</p`, `<!--`, `<?`.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_ENTITY = re.compile(r"&(?=[#A-Za-z])")  # `&#60;` would become `<`
# Web and mail addresses, which viewers turn into links, and diagrams, which a script draws.
_ADDRESS = re.compile(r":(?=//)|(?<![\w:.-])www(?=\.)|@(?=\w)", re.IGNORECASE)
_DIAGRAM = re.compile(r"(?:```|~~~)\s*m(?=ermaid)", re.IGNORECASE)
# The text of a heading becomes its id, and formgrader looks up the box for a grade by id.
_HEADING = re.compile(r"(?<!#)#{1,6}(?!#)[ \t]*(?=\S)")
_UNDERLINED = re.compile(r"\S(?=[ \t]*[\r\n]+[ \t>]*(?:=+|-+)[ \t]*(?:[\r\n]|\Z))")
# The commands that MathJax turns into links, attributes or new commands.
_COMMAND = re.compile(
    r"\\(?=href|url|style|class|cssId|data|require|unicode|def|gdef|edef|xdef|let|newcommand"
    r"|renewcommand|newenvironment|renewenvironment|DeclareMathOperator|html|special|input|include"
    r"|csname|catcode|mmlToken|toggle|action|bbox|texttip|mathtip|tooltip|begingroup)"
)
# Matches `![text](attachment:name)`, or the bracket in `](url)` and in `]: url`.
_PICTURE = re.compile(rf"!\[[^\[\]]*\]\(attachment:{ATTACHMENT}\)")
NO_PICTURE = "(a picture, which this page does not show)"
_LINK = re.compile(rf"(?<!\\)!\[[^\[\]]*\]\(attachment:(?P<name>{ATTACHMENT})\)|\](?=[(:])")


class CellOutput(NamedTuple):
    """Holds the feedback below a grade cell, as HTML for browsers and as text for terminals."""

    html: str
    text: str


def merge_student_cells(master: Notebook, data: bytes | None, label: str = "") -> Notebook:
    """Return *master* with the answers and the added cells of the student's notebook *data*.

    If *data* is None, the answers stay as they are in *master*. *label* names the student's file in
    messages. Raises ``UnusableFile`` if the notebook can't be read.
    """
    cells = [] if data is None else student_cells(data, label)
    return {**copy.deepcopy(master), "cells": list(_merged_cells(master["cells"], cells))}


def add_outputs(
    notebook: Notebook, outputs: Mapping[str, CellOutput], overall: CellOutput | None
) -> Notebook:
    """Return *notebook* with *outputs* below the grade cells and *overall*, if any, at the top."""
    shown = copy.deepcopy(notebook)
    for cell in shown["cells"]:
        output = outputs.get(cell_name(cell))
        if output is not None and cell["cell_type"] == "code":
            cell["outputs"] = [_display_data(output)]
    if overall is not None:
        top = _code_cell("# About the whole submission", "about-the-submission")
        shown["cells"].insert(0, {**top, "outputs": [_display_data(overall)]})
    return shown


def append_module(notebook: Notebook, label: str, source: str) -> Notebook:
    """Return *notebook* with the graded module at the end, for the instructor to read."""
    text = source[:MAX_SOURCE] + ("\n# … (more)" if len(source) > MAX_SOURCE else "")
    cells = [*notebook["cells"], _code_cell(f"# Submitted: {label}\n\n{text}", MODULE_CELL)]
    return {**notebook, "cells": cells}


def changed_cells(before: Notebook, after: Notebook) -> frozenset[str]:
    """Return the names of the graded cells of *after* whose answer differs from *before*.

    A written answer has changed if its text or a picture has changed. Every exercise counts as
    changed if any code has changed, because an exercise may use any code of the notebook.
    """
    old, new = _graded_texts(before), _graded_texts(after)
    own = {name for name, text in new.items() if old.get(name) != text}
    if _code(before) == _code(after):
        return frozenset(own)
    return frozenset(own | {cell_name(cell) for cell in after["cells"] if _is_exercise(cell)})


def written_texts(file: Path) -> dict[str, str]:
    """Return the text of each answer in an autograded notebook; empty if it can't be read."""
    try:
        cells = lab_notebook.decode(file.read_bytes())["cells"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {
        cell_name(cell): _PICTURE.sub(NO_PICTURE, cell["source"].replace(JOINER, ""))
        for cell in cells
        if cell["cell_type"] == "markdown" and cell["metadata"].get("nbgrader", {}).get("solution")
    }


def _graded_texts(notebook: Notebook) -> dict[str, object]:
    return {
        cell_name(cell): (cell["source"], cell.get("attachments"))
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


def _merged_cells(master: list[Cell], cells: list[Cell]) -> Iterator[Cell]:
    """Yield the student's cells in order, with the named cells of *master* in their places."""
    named = {cell_name(cell): cell for cell in master if cell_name(cell)}
    if not any(
        cell_name(cell) in named for cell in cells
    ):  # not this lab, so show it below the master
        yield from (copy.deepcopy(cell) for cell in master)
        yield from (_own_cell(cell, number) for number, cell in enumerate(cells[:MAX_CELLS]))
        return
    answers = _answer_indices(named, cells)
    followers = _missing_names(master, {cell_name(cells[index]) for index in answers})
    lessons = {(cell["cell_type"], cell["source"]): cell for cell in master if not cell_name(cell)}
    yield from (copy.deepcopy(named[name]) for name in followers.get("", ()))
    for index, cell in enumerate(cells):
        if index in answers:
            question = named[cell_name(cell)]
            yield _master_cell(question, cell)
            if _is_written_into(question, cell):
                yield _own_cell(cell, index)
            yield from (copy.deepcopy(named[name]) for name in followers.get(cell_name(cell), ()))
        elif index < MAX_CELLS:
            own = _own_cell(cell, index)
            lesson = lessons.get((cell["cell_type"], cell["source"]))  # an unchanged lesson
            yield {**copy.deepcopy(lesson), "id": own["id"]} if lesson else own


def _answer_indices(named: Mapping[str, Cell], cells: list[Cell]) -> frozenset[int]:
    best: dict[str, int] = {}
    for index, cell in enumerate(cells):
        name = cell_name(cell)
        if name in named:
            written = cell["source"].strip() not in {"", named[name]["source"].strip()}
            if name not in best or written:
                best[name] = index
    return frozenset(best.values())


def _missing_names(master: list[Cell], present: Collection[str]) -> dict[str, list[str]]:
    missing: dict[str, list[str]] = {}
    last = ""
    for cell in master:
        name = cell_name(cell)
        if name in present:
            last = name
        elif name:
            missing.setdefault(last, []).append(name)
    return missing


def _master_cell(master: Cell, cell: Cell) -> Cell:
    merged = copy.deepcopy(master)
    if master["metadata"]["nbgrader"]["solution"]:
        merged |= _sanitized_text(master["cell_type"], cell)
    return merged


def _is_written_into(question: Cell, cell: Cell) -> bool:
    """Whether a student wrote text into *cell*, which is not a cell for answers."""
    if question["metadata"]["nbgrader"]["solution"] or question["cell_type"] == "code":
        return False
    return cell["source"].strip() not in question["source"]  # the released text lacks the scheme


def _own_cell(cell: Cell, number: int) -> Cell:
    """Return a cell that the student added, made safe; a raw cell becomes Markdown.

    A raw cell would be rendered as HTML.
    """
    if cell["cell_type"] == "code":
        return _code_cell(cell["source"][:MAX_SOURCE], f"student-{number}")
    text = _sanitized_text("markdown", cell)
    return {"cell_type": "markdown", "id": f"student-{number}", "metadata": {}, **text}


def _sanitized_text(kind: str, cell: Cell) -> Cell:
    if kind == "code":
        return {"source": cell["source"][:MAX_SOURCE]}
    source, images = attach_pictures(cell["source"], cell.get("attachments"))
    text: Cell = {"source": escape_markdown(source, images)}
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


def _is_graded_answer(cell: Mapping[str, Any]) -> bool:
    facts = cell["metadata"].get("nbgrader", {})
    return bool(facts.get("grade") and facts.get("solution"))


def escape_markdown(text: str, images: Collection[str] = ()) -> str:
    """Return *text* changed so that no viewer finds HTML, a link or an active formula in it.

    Pictures attached under one of the names in *images* are kept. Other references to pictures are
    disabled, because nbconvert fails if an attachment is missing.
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
