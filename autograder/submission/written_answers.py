"""Finds the written questions that a lab certainly leaves unanswered; all others wait for a person.

An answer is blank if its cell is there and unchanged, and nothing else in the lab is the student's.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from autograder.course import LAB, Stage
from autograder.results import Flag, FlagKind
from autograder.submission.exercise_cells import is_for_browser
from autograder.submission.files import SubmittedFile, UnusableFile
from autograder.submission.guesses import PREDICT
from autograder.submission.names import is_lab
from autograder.submission.notebook import MAX_NOTEBOOK, cell_name, saved_cells, student_cells

NO_LAB = f"No {LAB} was submitted"  # begins a notice
WAITS = "for your instructor, who reads the file."  # ends a notice
_ADDRESS: Final = re.compile(r"\]\([^()\s]*\)")
_GUESS: Final = re.compile(
    r"""\b(?:guess|sure)\s*=\s*(?:(?P<quote>["']?)[\d.]+\s*%?(?P=quote)|(?P<text>"[^"\n]*"|'[^'\n]*'))"""
    r"(?=\s*[,)])"
)
_MAX_NAMED = 5  # answers in a sentence


class WrittenAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """The names of the *blank* answers, the points of those that wait, and a *flag* if needed.

    The text of the flag is also a notice for the student.
    """

    blank: frozenset[str] = frozenset()
    waiting: float = 0.0
    flag: Flag | None = None


def written_answers(stage: Stage, lab: SubmittedFile | None) -> WrittenAnswers:
    """Return what is known about the answers in *lab*, which a student submitted for *stage*."""
    points = stage.written_answers
    if not points:
        return WrittenAnswers()
    total = sum(points.values())
    if lab is None:
        notice = f"{NO_LAB}, so the written answers ({total:g} points) count as missing."
        return WrittenAnswers(blank=frozenset(points), flag=Flag(FlagKind.NO_LAB, notice))
    try:
        found = student_cells(lab.read(MAX_NOTEBOOK), lab.label)
        cells = [cell for cell in found if not is_for_browser(cell["source"].encode())]
    except UnusableFile as error:
        notice = f"{error} Your written answers ({total:g} points) wait {WAITS}"
        return WrittenAnswers(waiting=total, flag=Flag(FlagKind.UNCLEAR_ANSWERS, notice))
    released = saved_cells(stage.assignment / LAB)
    if _is_only_code(lab, cells, released):
        return written_answers(stage, None)
    unchanged = _unchanged(points, released, cells)
    blank = frozenset() if any(_foreign(points, released, cells)) else unchanged
    unclear = sorted((unchanged | (points.keys() - {*map(cell_name, cells)})) - blank)
    waiting = sum(points[name] for name in points.keys() - blank)
    notice = f"{lab.label}: {_listed(unclear)} {WAITS}"
    flag = Flag(FlagKind.UNCLEAR_ANSWERS, notice) if unclear else None
    return WrittenAnswers(blank=blank, waiting=waiting, flag=flag)


def _listed(names: Sequence[str]) -> str:
    """Return the beginning of a sentence about the answers *names*, which may be elsewhere."""
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    shown = f"{', '.join(names[:_MAX_NAMED])}{more}"
    return (
        f"the cell of an answer is missing or unchanged ({shown}), but other cells are not as they "
        "were released. The answer may be there, so it waits"
    )


def _is_only_code(
    lab: SubmittedFile, cells: Sequence[dict[str, Any]], released: Sequence[dict[str, Any]]
) -> bool:
    """Whether *lab* is a notebook for the module's code, and not a lab under a different name."""
    known = {cell["source"].strip() for cell in released} - {""}
    return not is_lab(lab.path) and not any(
        cell_name(cell)
        or cell["source"].strip() in known
        or (cell["cell_type"] != "code" and cell["source"].strip())
        for cell in cells
    )


def _unchanged(
    names: Collection[str], released: Sequence[dict[str, Any]], cells: Sequence[dict[str, Any]]
) -> frozenset[str]:
    """Return the answers *names* whose cells in *cells* are all empty or as *released*."""
    given = {cell_name(cell): cell["source"].strip() for cell in released}
    texts: dict[str, set[str]] = {}
    for cell in cells:
        texts.setdefault(cell_name(cell), set()).add(cell["source"].strip())
    return frozenset(
        name for name in names if name in texts and texts[name] <= {"", given.get(name, "")}
    )


def _foreign(
    names: Collection[str], released: Sequence[dict[str, Any]], cells: Sequence[dict[str, Any]]
) -> Iterator[str]:
    """Yield the texts in *cells* that are neither *released* nor in the cell of an answer."""
    known = {"", *(_comparable(cell) for cell in released)}
    for cell in cells:
        if cell_name(cell) not in names and (text := _comparable(cell)) not in known:
            yield text


def _comparable(cell: Mapping[str, Any]) -> str:
    """Return the text of *cell* without a guess, and without addresses.

    Addresses differ in a lab for a browser.
    """
    source = cell["source"].strip()
    if PREDICT in source:
        return _without_guess(source)
    return _ADDRESS.sub("]()", source)


def _without_guess(source: str) -> str:
    """Return *source* without numbers or choices as a guess, without commas and spaces.

    A guess in other words may be an answer, so it stays.
    """
    rest = _GUESS.sub("", source)
    texts = [found["text"] or "" for found in _GUESS.finditer(source)]
    kept = rest if all(text[1:-1] in rest for text in texts) else source
    return "".join(kept.replace(",", "").split())
