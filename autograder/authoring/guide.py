"""Writes START_HERE.md, which students read first: how to install the kit and to start."""

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

PARTS: Final = "a module that you complete, and checks that you run yourself"
PARTS_WITH_LABS: Final = (
    "a module that you complete, a lab that guides you through it, and checks that you run yourself"
)
LABS: Final = "To open the lab of a stage, run `jupyter lab` in its folder in `my-work`.\n"
HUNT: Final = (
    "| `autograder hunt STAGE` | hides a mistake in a copy of your code for a finished stage: find "
    "it, and write a test that catches it |\n"
)
ONE_FILE: Final = "In a class, submit the module of the stage, such as `GRADED`."
TWO_FILES: Final = (
    "In a class, submit two files for each graded stage: the module, such as `GRADED`, and "
    "`lab.ipynb` in the same folder, which has the questions that you answer in words."
)


def guide(course: Course, efforts: Mapping[str, StageEffort], wheel: str = "") -> bytes:
    """Return the guide to the stages in *efforts*, with the minutes that they take.

    *wheel* is the file name of the kit's wheel, if it is known.
    """
    stages = [course.stage(name) for name in efforts]
    has_labs = any(stage.lab.is_file() for stage in stages)
    stage = next((one for one in stages if one in course.stages), stages[0])
    words = {
        "TITLE": course.file.title,
        "GRADED": f"my-work/{stage.name}/{stage.module}.py",
        "EXTRA": "[lab]" if has_labs else "",
        "PARTS": PARTS_WITH_LABS if has_labs else PARTS,
        "HUNT": HUNT if any(stage.file.picture for stage in stages) else "",
        "WHEEL": wheel or UNKNOWN_WHEEL,
        "STAGES": "\n".join(_rows(course, efforts)),
    }
    where = "The kit is the file `WHEEL` in this folder." if wheel else NO_WHEEL
    submit = TWO_FILES if has_labs and course.grading.written else ONE_FILE
    labs = (LABS if has_labs else "") + submit
    text = TEMPLATE.read_text("utf-8").replace("WHERE", where).replace("LABS", labs)
    return re.sub("|".join(words), lambda word: words[word[0]], text).encode()


def efforts_of(stages: Iterable[Stage]) -> dict[str, StageEffort]:
    """Return the effort of each of *stages* from the last build, by the name of the stage."""
    return {stage.name: stage.effort for stage in stages}


def _rows(course: Course, efforts: Mapping[str, StageEffort]) -> Iterator[str]:
    """Yield a row of the table for each stage."""
    for name, effort in efforts.items():
        stage = course.stage(name)
        yield f"| {name} | {stage.title} | {len(stage.exercises)} | {effort.minutes} |"
