"""Writes START_HERE.md, which students read first: how to install the kit, and how to begin."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from autograder.course import Course, Stage
from autograder.course_file import StageEffort

TEMPLATE: Final = Path(__file__).parent / "templates" / "start_here.md"
UNKNOWN_WHEEL: Final = "KIT.whl"
NO_WHEEL: Final = (
    "Your instructor gives you the kit as a file whose name ends in `.whl`. "
    "Put it into the same folder as this file, and replace `WHEEL` below with its name."
)

ONE_FILE: Final = "In a class, submit the module of the stage, such as `FIRST`."
TWO_FILES: Final = (
    "In a class, submit two files for each stage: the module, such as `FIRST`, and `lab.ipynb` in "
    "the same folder, which has the questions that you answer in words."
)


def guide(course: Course, efforts: Mapping[str, StageEffort], wheel: str = "") -> bytes:
    """Return the guide to the stages that *efforts* names, with the minutes that they take.

    *wheel* is the name of the file with the kit, where it is known.
    """
    stage = course.stage(next(iter(efforts)))
    words = {
        "TITLE": course.file.title,
        "FIRST": f"my-work/{stage.name}/{stage.module}.py",
        "WHEEL": wheel or UNKNOWN_WHEEL,
        "STAGES": "\n".join(_rows(course, efforts)),
    }
    where = "The kit is the file `WHEEL` in this folder." if wheel else NO_WHEEL
    submit = TWO_FILES if course.grading.written else ONE_FILE
    text = TEMPLATE.read_text("utf-8").replace("WHERE", where).replace("SUBMIT", submit)
    return re.sub("|".join(words), lambda word: words[word[0]], text).encode()


def efforts_of(stages: Iterable[Stage]) -> dict[str, StageEffort]:
    """Return the figures of *stages* that were built, by the names of the stages."""
    return {stage.name: stage.effort for stage in stages}


def _rows(course: Course, efforts: Mapping[str, StageEffort]) -> Iterator[str]:
    """Yield a row of the table for each stage."""
    for name, effort in efforts.items():
        stage = course.stage(name)
        yield f"| {name} | {stage.title} | {len(stage.exercises)} | {effort.minutes} |"
