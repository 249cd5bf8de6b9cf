"""Writes a page about a learner's work: pictures computed by their code, and outputs of their labs.

The page needs no network and runs no script. Anybody can edit a notebook, so everything but small
pictures and plain text is left out of it.
"""

import base64
import binascii
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from autograder.course import Handout, Stage
from autograder.errors import UsageError
from autograder.reports.html import render
from autograder.reports.tensor_tables import TensorCell, TensorRow, TensorTable, shade
from autograder.sanitize import lines
from autograder.student.predictions import calibration, saved_guesses
from autograder.student.progress import Progress, first_open, tasks, tasks_of
from autograder.submission.notebook import saved_cells
from autograder.submission.written_answers import Prediction, answered_questions

if TYPE_CHECKING:  # it imports torch
    from autograder.student.stage_picture import PictureRows

Draw = Callable[[Stage], "PictureRows | None"]


class Output(NamedTuple):
    """A *picture*, as PNG in base64, with its *title*; or a printed *text*."""

    picture: str = ""
    title: str = ""
    text: str = ""


class Guess(NamedTuple):
    """A guess of the learner, with the choice that was guessed and the right one."""

    made: Prediction
    choice: str
    right: str


class Chapter(NamedTuple):
    """One stage on the page; *table* is None until all its exercises pass."""

    stage: Stage
    passed: tuple[str, ...]
    table: TensorTable | None
    outputs: tuple[Output, ...]
    guesses: tuple[Guess, ...]

    @property
    def is_done(self) -> bool:
        """Whether all exercises pass."""
        return len(self.passed) == len(self.stage.exercises)


def write_page(own: Handout, progress: Progress, folder: Path, draw: Draw) -> Path:
    """Write ``index.html`` into *folder*; *draw* returns the weights of a finished stage.

    Raises ``UsageError`` if nothing passes yet, or if the file can't be written.
    """
    chapters = [_chapter(stage, progress, draw) for stage in own.stages]
    if not any(chapter.passed for chapter in chapters):
        msg = "No exercise passes yet, so there is nothing to show. Begin with: autograder next"
        raise UsageError(msg)
    compared = [
        (one.made, one.choice == one.right) for chapter in chapters for one in chapter.guesses
    ]
    page = render(
        "course_page.html",
        calibration=calibration(compared) if compared else "",
        chapters=[chapter for chapter in chapters if chapter.passed],
        done=sum(chapter.is_done for chapter in chapters),
        stages=len(chapters),
        passed=sum(len(chapter.passed) for chapter in chapters),
        exercises=len(tasks(own)),
        following=first_open(own, progress),
        links=[
            (one.stage, one.stage.file.read_on)
            for one in chapters
            if one.is_done and one.stage.file.read_on
        ],
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "index.html"
        file.write_text(page, "utf-8")
    except OSError as error:
        where = error.filename or folder
        raise UsageError(f"{where} can't be written: {error.strerror}.") from None
    return file


def _chapter(stage: Stage, progress: Progress, draw: Draw) -> Chapter:
    passed = tuple(one.exercise.name for one in tasks_of(stage) if one.key in progress.passed)
    weights = draw(stage) if progress.is_done(stage) else None
    outputs = outputs_after_exercises(stage.lab) if passed else []
    guesses = _guesses(stage) if passed else ()
    table = _table(stage, weights) if weights else None
    return Chapter(stage, passed, table, tuple(outputs), tuple(guesses))


def _guesses(stage: Stage) -> Iterator[Guess]:
    made = saved_guesses(stage.lab)
    for question in answered_questions(stage):
        if found := question.latest(made):
            yield Guess(found, *(found.choices[at - 1] for at in (found.guess, question.right)))


def _table(stage: Stage, weights: "PictureRows") -> TensorTable | None:
    picture = stage.file.picture
    if picture is None:
        return None
    scale = list(chain.from_iterable(weights))
    rows = tuple(
        TensorRow(token, tuple(TensorCell(f"{one:.2f}", shade=shade(one, scale)) for one in row))
        for token, row in zip(picture.tokens, weights, strict=True)
    )
    return TensorTable("The result of your code", picture.columns, rows, shaded=True)


MOST_PICTURE: Final = 2 << 20  # bytes of one picture
MOST_TEXT: Final = 1_500  # characters that one cell has printed
MOST_OUTPUTS: Final = 8  # of one lab
PNG: Final = b"\x89PNG\r\n\x1a\n"
CHECK: Final = "lab.check("  # in the last cell of each exercise
MODEL_ANSWER: Final = "lab.model_answer("  # shows a text of the course, not of the learner
DATA: Final = "data:image/png;base64,"


def outputs_after_exercises(lab: Path) -> list[Output]:
    """List the outputs of the cells after the last exercise of *lab*; empty if it can't be read."""
    cells = saved_cells(lab)
    checks = [number for number, cell in enumerate(cells) if CHECK in cell["source"]]
    after = cells[checks[-1] + 1 :] if checks else []
    try:
        shown = [
            output
            for cell in after
            if MODEL_ANSWER not in cell["source"]
            for output in _cell(cell["outputs"] or [])
        ]
    except (ValueError, KeyError, TypeError, AttributeError):  # outputs may hold anything
        return []
    return shown[:MOST_OUTPUTS]


def _cell(outputs: list[Any]) -> Iterator[Output]:
    """Yield the printed text of one cell, and then its pictures."""
    streams = [one for one in outputs if one.get("output_type") == "stream"]
    printed = "".join("".join(one["text"]) for one in streams if one.get("name") == "stdout")
    if text := lines(printed, MOST_TEXT):
        yield Output(text=text)
    for data in (one.get("data") or {} for one in outputs):
        if "text/html" in data:
            parser = _Pictures()
            parser.feed("".join(data["text/html"]))
            yield from parser.found
        elif "image/png" in data:
            yield from _picture("".join(data["image/png"]), "A picture of your lab")


class _Pictures(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Output] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the picture of an ``img`` tag."""
        known = dict(attrs)
        source = known.get("src") or ""
        if tag == "img" and source.startswith(DATA):
            self.found += _picture(source.removeprefix(DATA), known.get("alt") or "")


def _picture(encoded: str, title: str) -> Iterator[Output]:
    try:
        content = base64.b64decode("".join(encoded.split()), validate=True)
    except binascii.Error:
        return
    if content.startswith(PNG) and len(content) <= MOST_PICTURE:
        yield Output(base64.b64encode(content).decode(), lines(title, MOST_TEXT))
