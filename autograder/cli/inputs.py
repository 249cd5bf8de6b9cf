"""Reads the inputs that commands share: the course, its gradebook, and a roster."""

from pathlib import Path
from typing import TYPE_CHECKING

from autograder.course import Course, Handout, find_root, load
from autograder.student import learner_folder
from autograder.submission.roster import Roster

if TYPE_CHECKING:
    from autograder.gradebook.course_gradebook import CourseGradebook


def find_course(folder: Path | None) -> Course:
    """Load the course in *folder*, or the one around the current folder."""
    return load(folder if folder is not None else find_root(Path.cwd()))


def find_handout(folder: Path | None) -> Handout:
    """Find the learner's folder, from the current one by default."""
    return learner_folder.find(folder if folder is not None else Path.cwd())


def open_gradebook(course: Course) -> "CourseGradebook":
    """Open nbgrader's gradebook of *course*."""
    from autograder.gradebook.course_gradebook import CourseGradebook  # noqa: PLC0415  # nbgrader is an optional library

    return CourseGradebook(course)


def read_roster(file: Path | None, book: "CourseGradebook | None") -> Roster | None:
    """Read the roster, or ask the gradebook; None: nobody has another id."""
    if book is not None:
        return book.roster(file)
    return Roster.read(file) if file else None
