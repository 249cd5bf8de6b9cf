"""Writes the skeleton of a stage: a small, complete stage that `release` and `verify` accept.

It is in plain Python in a course that turns off the kinds of mistake about torch. An author can
replace it piece by piece and keep the course valid.
"""

import json
import keyword
import re
import sys
from pathlib import Path

from autograder.authoring import skeletons
from autograder.authoring.new_course import with_stages
from autograder.authoring.skeletons import Skeleton
from autograder.course import COURSE_FILE, HINTS_FILE, LAB, STAGE_FILE, Course
from autograder.diagnosis.own_sentences import FILE as OWN_SENTENCES
from autograder.errors import CourseError, UsageError

_NAME = re.compile(r"\d\d_[a-z][a-z0-9_]*")


def new_stage(course: Course, name: str) -> tuple[Path, ...]:
    """Write the skeleton of the stage *name*, and add it to the end of ``course.toml``.

    Return the written paths. Raises ``UsageError`` for a name that can't be used.
    """
    module = name.partition("_")[2]
    if problem := _problem(course, name, module):
        raise UsageError(problem)
    listing = course.root / COURSE_FILE
    before = listing.read_text("utf-8")
    array = before.partition("stages")[2].partition("]")[0]
    if "#" in array:
        msg = (
            f"There is a comment among the stages of {listing}: list {name!r} there yourself first."
        )
        raise CourseError(msg)
    listed = with_stages(before, [*course.file.stages, name])
    written = []
    skeleton = skeletons.TORCH if "torch" in course.file.kinds else skeletons.PLAIN
    for path, text in _files(name, module, skeleton).items():
        target = course.root / path
        if target.exists():  # a file that all stages share
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
        written.append(target)
    listing.write_text(listed, "utf-8")
    return (*written, listing)


def _problem(course: Course, name: str, module: str) -> str:
    """Return the reason why *name* can't be the name of a stage; empty if it can."""
    if not _NAME.fullmatch(name):
        return (
            f"{name!r}: the name of a stage is a number and the name of its module, such as "
            "20_your_stage."
        )
    if keyword.iskeyword(module) or module in sys.stdlib_module_names | {"torch", "numpy"}:
        return f"A module {module!r} would hide Python's or torch's own; choose another name."
    number = name.partition("_")[0]
    for stage in course.every_stage:
        if stage.module == module or stage.name.partition("_")[0] == number:
            return f"{name!r} and the stage {stage.name!r} would share a number or a module."
    for parent in ("solutions", "source", "tests/hidden"):
        if (folder := course.root / parent / name).exists():
            return f"{folder} exists already; delete it or choose another name."
    return ""


def _files(name: str, module: str, skeleton: Skeleton) -> dict[str, str]:
    """Return the text of each file of the stage by its path in the course."""
    hidden = f"tests/hidden/{name}"
    texts = {
        f"solutions/{name}/{module}.py": skeleton.solution,
        f"source/{name}/{STAGE_FILE}": skeletons.STAGE,
        f"source/{name}/{HINTS_FILE}": skeleton.hints,
        f"source/{name}/{LAB}": _lab(skeleton),
        f"{hidden}/test_{module}.py": skeletons.SUITE_HEAD + skeleton.checks,
        f"{hidden}/hollow.py": skeleton.hollow,
        f"{hidden}/variants/one_by_one.py": skeleton.variant,
        f"{hidden}/misconceptions.py": skeletons.MISCONCEPTIONS,
        f"{hidden}/{OWN_SENTENCES}": skeletons.SENTENCES + skeleton.question,
        f"{hidden}/ready.py": skeletons.READY,
        f"{hidden}/equivalents.toml": skeletons.EQUIVALENTS,
        "tests/hidden/rules.toml": skeletons.RULES,
        "tests/hidden/documented.toml": skeletons.DOCUMENTED,
    }
    words = {
        "STAGE": name,
        "EXERCISE": skeleton.name,
        "MISTAKE": skeleton.misconception,
        "MODULE": module,
        "NUMBER": name[:2],
        "TITLE": module.replace("_", " ").capitalize(),
    }
    fill = re.compile("|".join(rf"(?<![A-Z]){word}\b" for word in words))
    return {path: fill.sub(lambda word: words[word[0]], text) for path, text in texts.items()}


def _lab(skeleton: Skeleton) -> str:
    """Return the lab: an example, a grade cell, and a question with its mark scheme."""
    scheme = "### BEGIN MARK SCHEME\n1 point: say what earns it.\n### END MARK SCHEME"
    cells = (
        _cell("markdown", "# Stage NUMBER: TITLE\n\nSay what this stage is about."),
        _cell("code", skeleton.lab_setup, grade_id="setup", locked=True),
        _cell("code", skeleton.lab_example),
        _cell(
            "code",
            f'lab.check("{skeleton.name}")',
            grade_id=skeleton.name,
            grade=True,
            locked=True,
        ),
        _cell("markdown", f"Ask a question here.\n\n{scheme}", grade_id="question", locked=True),
        _cell(
            "markdown",
            "*Write your answer here.*",
            grade_id="answer",
            grade=True,
            solution=True,
            points=1,
        ),
    )
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def _cell(kind: str, source: str, **role: object) -> dict[str, object]:
    """Return a cell of a notebook; *role* is its nbgrader metadata."""
    runs: dict[str, object] = {"execution_count": None, "outputs": []}
    code = runs if kind == "code" else {}
    metadata = {"nbgrader": role} if role else {}
    return {"cell_type": kind, "id": "x", "metadata": metadata, "source": source, **code}
