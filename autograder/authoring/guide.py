"""Writes START_HERE.md, which students read first: how to install the kit and to start."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from autograder.course import Course, Stage

TEMPLATES: Final = Path(__file__).parent / "templates"

PARTS: Final = "a module that you complete, and checks that you run yourself"
PARTS_WITH_LABS: Final = (
    "a module that you complete, a lab that guides you through it, and checks that you run yourself"
)
LABS: Final = "To open the lab of a stage, run `jupyter lab` in its folder in `my-work`.\n"
HUNT: Final = (
    "| `autograder hunt STAGE` | hides a mistake in a copy of your code for a finished stage: find "
    "it, and write a test that catches it |\n"
)
PREPARE: Final = "before-you-start.md"  # a page in the folder of the course's modules
PREPARED: Final = f"\n[Before you start](course/{PREPARE}) has questions on what you need to know."
ONE_FILE: Final = "In a class, submit the module of the stage, such as `GRADED`."
TWO_FILES: Final = (
    "In a class, submit two files for each graded stage: the module, such as `GRADED`, and "
    "`lab.ipynb` in the same folder, which has the questions that you answer in words."
)


def guide(course: Course, stages: Sequence[Stage], wheel: str = "") -> bytes:
    """Return the guide to the *stages* of *course*, with the minutes that they take.

    *wheel* is the file name of the kit's wheel next to the guide; without it, the guide is for a
    clone. `autograder start` replaces the part about the installation in a learner's folder.
    """
    has_labs = any(stage.lab.is_file() for stage in stages)
    stage = next((one for one in stages if one in course.stages), stages[0])
    words = {
        "TITLE": course.file.title,
        "GRADED": f"my-work/{stage.name}/{stage.module}.py",
        "EXTRA": "[lab]" if has_labs else "",
        "PARTS": PARTS_WITH_LABS if has_labs else PARTS,
        "HUNT": HUNT if any(stage.file.picture for stage in stages) else "",
        "PREPARE": PREPARED if (course.shared_source / PREPARE).is_file() else "",
        "WHEEL": wheel,
        "STAGES": "\n".join(_rows(stages)),
        "ROADS": "".join(_roads(stages)),
    }
    how = _template("install_wheel" if wheel else "install_clone")
    install = _template("install").replace("HOW", how)
    submit = TWO_FILES if has_labs and course.grading.written else ONE_FILE
    labs = (LABS if has_labs else "") + submit
    text = _template("start_here").replace("INSTALL", install).replace("LABS", labs)
    return re.sub("|".join(words), lambda word: words[word[0]], text).encode() + b"\n"


def _template(name: str) -> str:
    return (TEMPLATES / f"{name}.md").read_text("utf-8").rstrip("\n")


def _roads(stages: Sequence[Stage]) -> Iterator[str]:
    """Yield a text on the roads through *stages*; nothing if they have at most one."""
    names = list(dict.fromkeys(stage.file.road for stage in stages if stage.file.road))
    if len(names) < 2:  # noqa: PLR2004  # one road is the course
        return
    yield "\nThe stages form several roads. Before a stage, take the stages that it needs:\n\n"
    for name in names:
        those = [stage for stage in stages if stage.file.road == name]
        hours = round(sum(stage.minutes for stage in those) / 60)
        wanted = {one for stage in those for one in stage.file.prerequisites}
        needed = _numbers(one for one in stages if one.name in wanted and one not in those)
        more = f"; needs {needed}" if needed else ""
        yield f"- *{name}*: {_numbers(those)} (about {hours} hours){more}\n"


def _numbers(stages: Iterable[Stage]) -> str:
    return ", ".join(stage.name.partition("_")[0] for stage in stages)


def _rows(stages: Sequence[Stage]) -> Iterator[str]:
    """Yield a row of the table for each stage."""
    for stage in stages:
        yield f"| {stage.name} | {stage.title} | {len(stage.exercises)} | {stage.minutes} |"
