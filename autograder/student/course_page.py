"""Writes a page about a learner's work: pictures computed by their code, and outputs of their labs.

The page needs no network and runs no script.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from autograder.course import Handout, Stage
from autograder.course_file import Link
from autograder.errors import UsageError
from autograder.reports.html import render
from autograder.reports.tensor_tables import TensorCell, TensorRow, TensorTable, shade
from autograder.student.lab_outputs import Output, outputs_after_exercises
from autograder.student.progress import Progress, Task, first_open, tasks

if TYPE_CHECKING:  # it imports torch
    from autograder.student.stage_picture import PictureRows

Draw = Callable[[Stage], "PictureRows | None"]


class Chapter(NamedTuple):
    """One stage on the page; *table* is None until all its exercises pass."""

    stage: Stage
    passed: tuple[str, ...]
    table: TensorTable | None
    outputs: tuple[Output, ...]

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
    page = render(
        "course_page.html",
        chapters=[chapter for chapter in chapters if chapter.passed],
        done=sum(chapter.is_done for chapter in chapters),
        stages=len(chapters),
        passed=sum(len(chapter.passed) for chapter in chapters),
        exercises=len(tasks(own)),
        following=first_open(own, progress),
        links=list(_links(chapters)),
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "index.html"
        file.write_text(page, "utf-8")
    except OSError as error:
        msg = f"The page can't be written: {error}."
        raise UsageError(msg) from None
    return file


def _chapter(stage: Stage, progress: Progress, draw: Draw) -> Chapter:
    passed = tuple(
        exercise.name
        for exercise in stage.exercises
        if Task(stage, exercise).key in progress.passed
    )
    weights = draw(stage) if progress.is_done(stage) else None
    outputs = outputs_after_exercises(stage.lab) if passed else []
    return Chapter(stage, passed, _table(stage, weights) if weights else None, tuple(outputs))


def _table(stage: Stage, weights: "PictureRows") -> TensorTable | None:
    """Return the *weights* of the stage's picture as a table."""
    picture = stage.file.picture
    if picture is None:
        return None
    scale = list(chain.from_iterable(weights))
    rows = tuple(
        TensorRow(token, tuple(TensorCell(f"{one:.2f}", shade=shade(one, scale)) for one in row))
        for token, row in zip(picture.tokens, weights, strict=True)
    )
    return TensorTable("The result of your code", picture.columns, rows, shaded=True)


def _links(chapters: list[Chapter]) -> Iterator[tuple[Stage, tuple[Link, ...]]]:
    """Yield the further reading of each finished stage."""
    for chapter in chapters:
        if chapter.is_done and chapter.stage.file.read_on:
            yield chapter.stage, chapter.stage.file.read_on
