"""Finds the file that a student wants to check, and the suites for it."""

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


class CheckTarget(NamedTuple):
    """The *file* to check, the stage's folder with its *public* suite, and the *course*.

    The course is there where the hidden suite is to run, too; *hidden_is_here* says that it could.
    """

    file: Path
    public: Course
    course: Course | None
    hidden_is_here: bool

    @property
    def stage(self) -> Stage:
        """The stage, as students received it."""
        return self.public.stages[0]


def find_target(
    name: str, start: Path, root: Path | None = None, *, hidden: bool = False
) -> CheckTarget:
    """Find what *name* means in the folder *start*: nothing, a folder, a file or a stage.

    A folder that holds a stage is enough. Everything else needs the course, at *root* or in a
    folder above *start*. Raises ``UsageError``, which says what to do.
    """
    path = start / name
    file = None
    if not os.path.exists(path):  # noqa: PTH110  # Path.exists raises for an invalid path
        folder = _named_stage(name, start, root).assignment
    elif path.is_dir():
        folder = path
    else:
        folder, file = _folder_of(path, start, root), path
    if not is_handout(folder):
        raise UsageError(_no_stage(folder))
    public = handout(folder)
    course = _with_hidden(public.stages[0].name, folder, root)
    if hidden and course is None:
        msg = (
            "The hidden suite stays with your instructor; there is none here. "
            "Leave --hidden out: the public checks run without it."
        )
        raise UsageError(msg)
    file = file or _student_file(folder, public.stages[0])
    return CheckTarget(file, public, course if hidden else None, course is not None)


def _named_stage(name: str, start: Path, root: Path | None) -> Stage:
    try:
        course = _course(start, root)
    except CourseError:
        msg = (
            f"There is no file or folder {name} in {start}. Go to the folder of your stage and "
            "run `autograder check`, or name your file: autograder check PATH."
        )
        raise UsageError(msg) from None
    stage = course.stage(name)
    if not is_handout(stage.assignment):
        msg = f"{stage.assignment} is not built yet: run `autograder release` first."
        raise UsageError(msg)
    return stage


def _folder_of(file: Path, start: Path, root: Path | None) -> Path:
    """Return the folder whose suite checks *file*: its own, or its stage's."""
    if is_handout(file.parent):
        return file.parent
    try:
        course = _course(start, root)
    except CourseError:
        return file.parent
    submission = next(collect(file, course.stages))
    if not submission.stage:
        known = ", ".join(f"{stage.module}.py" for stage in course.stages)
        msg = f"{file.name} belongs to no stage. Give it the name of its stage's module: {known}."
        raise UsageError(msg)
    return course.stage(submission.stage).source


def _student_file(folder: Path, stage: Stage) -> Path:
    """Return the file that a student works in: the module, else a notebook of the same name."""
    names = (f"{stage.module}.py", f"{stage.module}.ipynb")
    for file in (folder / name for name in names):
        if file.is_file():
            return file
    msg = (
        f"There is no {names[0]} in {folder}. Put yours there, or name your file: "
        "autograder check PATH."
    )
    raise UsageError(msg)


def _with_hidden(stage: str, folder: Path, root: Path | None) -> Course | None:
    """Return the course if it holds the hidden suite of *stage*."""
    try:
        course = _course(folder, root)
        return course if course.stage(stage).hidden_suite.is_file() else None
    except (CourseError, UsageError):
        return None


def _course(start: Path, root: Path | None) -> Course:
    return load(root if root is not None else find_root(start))


def _no_stage(folder: Path) -> str:
    if (folder / COURSE_FILE).is_file():
        stages = ", ".join(load(folder).file.stages)
        return f"Which stage? Name it by name or number, such as `autograder check 1`: {stages}."
    missing = [name for name in (STAGE_FILE, PUBLIC_SUITE) if not (folder / name).is_file()]
    return (
        f"There is no {' and no '.join(missing)} in {folder}. Go to a stage's folder as you "
        "received it, such as 04_self_attention, and run `autograder check` there. "
        "If a file of the folder is lost, download the folder again and put your module into it."
    )
