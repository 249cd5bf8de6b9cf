"""Which file a student means, and which suites there are to check it."""

import os
from pathlib import Path
from typing import NamedTuple

from autograder.course import (
    COURSE_FILE,
    PUBLIC_SUITE,
    STAGE_FILE,
    Course,
    Stage,
    find_root,
    handout,
    is_handout,
    load,
)
from autograder.errors import CourseError, UsageError
from autograder.submission import collect

NO_HIDDEN = (
    "The hidden suite stays with your instructor; there is none here. "
    "Leave --hidden out: your own checks run without it."
)


class Place(NamedTuple):
    """The *file* to check, the stage's folder with its public suite, and the course if it helps."""

    file: Path
    public: Course
    course: Course | None

    @property
    def stage(self) -> Stage:
        """The stage, as students have it."""
        return self.public.stages[0]


def find(what: str, start: Path, root: Path | None = None, *, hidden: bool = False) -> Place:
    """Find what *what* means to one who stands in *start*: nothing, a folder, a file or a stage.

    A folder that holds a stage speaks for itself. Everything else needs the course, at *root* or
    above. Raises ``UsageError`` with what to do.
    """
    path = start / what
    if not os.path.exists(path):  # noqa: PTH110 - Path.exists raises on what can be no path
        folder, file = _named(what, start, root).assignment, None
    elif path.is_dir():
        folder, file = path, None
    else:
        folder, file = _folder_of(path, start, root), path
    if not is_handout(folder):
        raise UsageError(_no_stage(folder))
    public = handout(folder)
    course = _with_hidden(public.stages[0].name, folder, root) if hidden else None
    return Place(file or _written(folder, public.stages[0]), public, course)


def _named(what: str, start: Path, root: Path | None) -> Stage:
    """Find the stage called *what* in the course."""
    try:
        course = _course(start, root)
    except CourseError:
        msg = (
            f"There is no file or folder {what} in {start}. Go to the folder of your stage and "
            "run `autograder check`, or name your file: autograder check PATH."
        )
        raise UsageError(msg) from None
    stage = course.stage(what)
    if not is_handout(stage.assignment):
        msg = f"{stage.assignment} is not built yet: run `autograder release` first."
        raise UsageError(msg)
    return stage


def _folder_of(file: Path, start: Path, root: Path | None) -> Path:
    """Return the folder whose suite checks *file*: its own, else that of the stage it names."""
    if is_handout(file.parent):
        return file.parent
    try:
        course = _course(start, root)
    except CourseError:
        return file.parent
    submission = next(collect(file, course.stages))
    if not submission.stage:
        known = ", ".join(f"{stage.module}.py" for stage in course.stages)
        msg = (
            f"The name {file.name} tells no stage. Name it as its stage's module is named: {known}."
        )
        raise UsageError(msg)
    return course.stage(submission.stage).source


def _written(folder: Path, stage: Stage) -> Path:
    """Return the file that a student has written into: the module, else a notebook of its name."""
    names = (f"{stage.module}.py", f"{stage.module}.ipynb")
    for file in (folder / name for name in names):
        if file.is_file():
            return file
    msg = f"There is no {names[0]} in {folder}. Put yours there, or name it: autograder check PATH."
    raise UsageError(msg)


def _with_hidden(stage: str, folder: Path, root: Path | None) -> Course:
    try:
        course = _course(folder, root)
        found = course.stage(stage).hidden_suite.is_file()
    except (CourseError, UsageError):
        found = False
    if not found:
        raise UsageError(NO_HIDDEN)
    return course


def _course(start: Path, root: Path | None) -> Course:
    return load(root if root is not None else find_root(start))


def _no_stage(folder: Path) -> str:
    if (folder / COURSE_FILE).is_file():
        stages = ", ".join(load(folder).file.stages)
        return f"Which stage? Name it by name or number, such as `autograder check 1`: {stages}."
    missing = [name for name in (STAGE_FILE, PUBLIC_SUITE) if not (folder / name).is_file()]
    return (
        f"There is no {' and no '.join(missing)} in {folder}. Go to a stage's folder as you "
        "received it, such as 04_self_attention, and run `autograder check` there; "
        "if something got lost there, get the folder anew and put your module into it."
    )
