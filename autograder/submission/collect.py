"""From a PATH on the command line to submissions, one for each student and stage."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from autograder.course import Stage
from autograder.errors import UsageError
from autograder.submission.assemble import submissions
from autograder.submission.discovery import HandIn, hand_ins
from autograder.submission.model import Submission
from autograder.submission.names import student_id, visible
from autograder.submission.stage_matching import StageResolver


def collect(path: Path, stages: Sequence[Stage], only: Stage | None = None) -> Iterator[Submission]:
    """Yield what was handed in at *path*, sorted by student, then in the order of *stages*.

    A ``.zip``, ``.py`` or ``.ipynb`` is one student's. What a folder is, its top tells:

    1. Two archives or more, or a name that an LMS made: a class.
    2. Else a folder named like a stage, or a file named as a stage's module or notebook is
       (``lab.ipynb`` and browser copies such as ``lab (1).ipynb`` included): one student's.
    3. Else no folder, no archive, and at most one ``.py`` or ``.ipynb``: one student's.
    4. Else a class.

    In a class each folder (nbgrader's ``<student>/<stage>/``, Moodle's
    ``<name>_<number>_assignsubmission_file_/``), each archive, each loose ``.py`` or ``.ipynb``,
    and whatever else an LMS named after a student, is that student's; several of one student
    count as one hand-in.

    The student is the folder's name or the file's stem; ``names.handed_in`` knows Canvas and
    Moodle. Where that only names a stage, the nearest folder above that doesn't is the student's.
    The stage is told by the nearest folder named like one, else by the file's name, else by *only*.

    Raises ``UsageError`` if *path* itself can't be served. Whatever is wrong inside becomes a
    submission with a problem.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links
    resolver = StageResolver(stages=tuple(stages), only=only)
    home = resolver.named(path.name) or resolver.named(path.parent.name)
    resolver = msgspec.structs.replace(resolver, home=home)
    found = hand_ins(path, resolver)  # now, not when the first submission is asked for
    return (submission for hand_in in found for submission in submissions(hand_in, resolver))


def collect_one(folder: Path, student: str, stage: Stage, stages: Sequence[Stage]) -> Submission:
    """Return what *student* handed in for *stage* at *folder*, whatever lies there.

    Raises ``UsageError`` if *student* can't be an id.
    """
    if student_id(student) != student:
        msg = (
            f"{folder} can't be graded: {visible(student)!r} can stand in no page and no file's "
            f"name. Rename it, such as to {student_id(student)!r}."
        )
        raise UsageError(msg)
    resolver = StageResolver(stages=tuple(stages), only=stage, home=stage)
    hand_in = HandIn(student=student, places=(Path(os.path.abspath(folder)),))  # noqa: PTH100 - `resolve` would follow links
    return next(submissions(hand_in, resolver))
