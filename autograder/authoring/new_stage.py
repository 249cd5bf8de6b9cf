"""Writes the skeleton of a stage: a small, complete stage that `release` and `verify` accept.

It is in plain Python in a course that turns off the kinds of mistake about torch. An author can
replace it piece by piece and keep the course valid.
"""

import keyword
import re
import sys
from pathlib import Path
from typing import Final

from autograder.authoring.new_course import with_stages
from autograder.course import COURSE_FILE, HINTS_FILE, LAB, STAGE_FILE, Course
from autograder.diagnosis.own_sentences import FILE as OWN_SENTENCES
from autograder.errors import CourseError, UsageError

TEMPLATES: Final = Path(__file__).parent / "templates" / "stage"  # shared, and by kind of stage
HIDDEN: Final = "tests/hidden/STAGE"
# The template of each file. Words in capital letters are filled in, in paths and texts.
FILES: Final = {
    "solutions/STAGE/MODULE.py": "solution.py.txt",
    f"source/STAGE/{STAGE_FILE}": "stage.toml",
    f"source/STAGE/{HINTS_FILE}": "hints.toml",
    f"source/STAGE/{LAB}": "lab.ipynb",
    f"{HIDDEN}/test_MODULE.py": "suite.py.txt",
    f"{HIDDEN}/hollow.py": "hollow.py.txt",
    f"{HIDDEN}/variants/one_by_one.py": "variant.py.txt",
    f"{HIDDEN}/misconceptions.py": "misconceptions.py.txt",
    f"{HIDDEN}/{OWN_SENTENCES}": "sentences.toml",
    f"{HIDDEN}/ready.py": "ready.py.txt",
    f"{HIDDEN}/equivalents.toml": "equivalents.toml",
    "tests/hidden/rules.toml": "rules.toml",
    "tests/hidden/documented.toml": "documented.toml",
}
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
    kind = "torch" if "torch" in course.file.kinds else "plain"
    for path, text in _files(name, module, kind).items():
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


def _files(name: str, module: str, kind: str) -> dict[str, str]:
    """Return the text of each file of a stage of *kind* by its path in the course."""
    words = {
        "STAGE": name,
        "MODULE": module,
        "NUMBER": name[:2],
        "TITLE": module.replace("_", " ").capitalize(),
    }
    fill = re.compile("|".join(rf"(?<![A-Z]){word}\b" for word in words))

    def filled(text: str) -> str:
        return fill.sub(lambda word: words[word[0]], text)

    found = {}
    for path, template in FILES.items():
        own, shared = TEMPLATES / kind / template, TEMPLATES / template
        found[filled(path)] = filled((own if own.is_file() else shared).read_text("utf-8"))
    return found
