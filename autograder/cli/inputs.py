"""Reads the inputs that several commands share: the course, its gradebook, and a roster."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from autograder.course import Course, Handout, Stage, find_root, load
from autograder.errors import UsageError
from autograder.student import learner_folder, learner_place
from autograder.student.learner_place import Place
from autograder.student.progress import AmbiguousNameError, Task
from autograder.submission.roster import Roster

if TYPE_CHECKING:
    from autograder.gradebook.course_gradebook import CourseGradebook


def find_course(folder: Path | None, *, may_be_empty: bool = False) -> Course:
    """Load the course in *folder*, or the course that contains the current folder."""
    root = folder if folder is not None else find_root(Path.cwd())
    return load(root, may_be_empty=may_be_empty)


def find_stages(course: Course, wanted: Sequence[str] | None, *, graded: bool) -> list[Stage]:
    """Return the *wanted* stages in the order of the course; none if none is given.

    One text may have several names, with commas. If *graded*, raises ``UsageError`` for a stage
    without points.
    """
    find = course.graded_stage if graded else course.stage
    names = [name.strip() for text in wanted or () for name in text.split(",") if name.strip()]
    found = [find(name) for name in names]
    return [stage for stage in course.every_stage if stage in found]


def find_handout(folder: Path | None) -> Handout:
    """Find the learner's folder at or near *folder*, by default the current folder."""
    return learner_folder.find(folder if folder is not None else Path.cwd())


def find_place(word: str) -> Place:
    """Find the exercise that *word* or the current folder means; ask which, on a terminal."""
    here = Path.cwd()
    try:
        return learner_place.find_place(word, here)
    except AmbiguousNameError as error:
        return learner_place.find_place(choose(word, error).key, here)


def choose(name: str, error: AmbiguousNameError) -> Task:
    """Ask the learner which of several exercises *name* is; raise *error* without a terminal."""
    if not sys.stdin.isatty():
        raise error
    for number, task in enumerate(error.choices, start=1):
        typer.echo(f"  {number}  {task.key}")
    number = 0
    while not 1 <= number <= len(error.choices):
        number = typer.prompt(f"Which {name}, from 1 to {len(error.choices)}", type=int)
    return error.choices[number - 1]


def open_gradebook(course: Course) -> "CourseGradebook":
    """Open nbgrader's gradebook of *course*."""
    from autograder.gradebook.course_gradebook import CourseGradebook  # noqa: PLC0415  # nbgrader is an optional library

    return CourseGradebook(course)


def refuse_unused(needed: str, given: object, options: Mapping[str, object]) -> None:
    """Raise ``UsageError`` if one of *options* has a value, and *needed* was not *given*."""
    for name, value in options.items():
        if value and not given:
            msg = f"{name} has no effect without {needed}. Leave it out, or add the other option."
            raise UsageError(msg)


def refuse_ignored(chosen: str, given: object, options: Mapping[str, object]) -> None:
    """Raise ``UsageError`` if one of *options* has a value that *chosen*, if *given*, ignores."""
    for name, value in options.items():
        if value and given:
            raise UsageError(f"{name} has no effect with {chosen}. Leave one of the two out.")


def read_roster(
    files: Sequence[Path] | None, book: "CourseGradebook | None", id_column: str = ""
) -> Roster | None:
    """Read the roster from *files* or from *book*; return None if neither has one."""
    if id_column and not files:
        msg = "--id-column names a column of the roster. Pass the roster too, with --roster."
        raise UsageError(msg)
    if book is not None:
        return book.roster(files or (), id_column)
    return Roster.read_all(files, id_column=id_column) if files else None


def read_names(
    files: Sequence[Path] | None, id_column: str, *, gradebook: bool, course: Path | None
) -> dict[str, str]:
    """Return the names of the students by id, from a roster and the course's gradebook."""
    book = open_gradebook(find_course(course)) if gradebook else None
    roster = read_roster(files, book, id_column)
    return {**(book.names() if book else {}), **(roster.names if roster else {})}
