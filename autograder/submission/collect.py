"""Collects submissions from a path: one for each student and stage."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from autograder.course import Stage
from autograder.errors import UsageError
from autograder.submission.assemble import submissions, without_files_of
from autograder.submission.discovery import find_hand_ins
from autograder.submission.model import Submission
from autograder.submission.names import student_id, visible
from autograder.submission.place import open_hand_in
from autograder.submission.stage_matching import StageResolver


def collect(path: Path, stages: Sequence[Stage], only: Stage | None = None) -> Iterator[Submission]:
    """Yield what was handed in at *path*, sorted by student, then in the order of *stages*.

    A ``.zip``, ``.py`` or ``.ipynb`` is one student's. The entries of a folder decide whose it is:

    1. Two archives or more, or a name that an LMS made: a class.
    2. Else a folder named like a stage, or a file named as a stage's module or notebook is
       (``lab.ipynb`` and browser copies such as ``lab (1).ipynb`` included): one student's.
    3. Else no folder, no archive, and at most one ``.py`` or ``.ipynb``: one student's.
    4. Else a class.

    In a class each folder (nbgrader's ``<student>/<stage>/``, Moodle's
    ``<name>_<number>_assignsubmission_file_/``), each archive, each loose ``.py`` or ``.ipynb``,
    and whatever else an LMS named after a student, is that student's; several of one student
    count as one hand-in.

    The student is the folder's name or the file's stem; ``names.parse_download_name`` reads the
    names that Canvas and Moodle make. Where a name only names a stage, the student is the nearest
    folder above that doesn't.
    The stage is the nearest folder named like one, else the file's name says it, else *only*.

    Raises ``UsageError`` if *path* itself can't be used. Any problem inside becomes a submission
    with a problem.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links
    resolver = StageResolver(stages=tuple(stages), only=only)
    enclosing = resolver.stage_named(path.name) or resolver.stage_named(path.parent.name)
    resolver = msgspec.structs.replace(resolver, enclosing=enclosing)
    found = find_hand_ins(path, resolver)  # now, not when the first submission is asked for
    return (
        submission
        for student, places in found.items()
        for submission in submissions(open_hand_in(student, places), resolver)
    )


def collect_one(folder: Path, student: str, stage: Stage, stages: Sequence[Stage]) -> Submission:
    """Return what *student* handed in for *stage* at *folder*, whatever its files are named.

    Raises ``UsageError`` if *student* can't be an id.
    """
    if student_id(student) != student:
        msg = (
            f"{folder} can't be graded: {visible(student)!r} can't be the name of a page or a "
            f"file. Rename it, such as to {student_id(student)!r}."
        )
        raise UsageError(msg)
    resolver = StageResolver(stages=tuple(stages), only=stage, enclosing=stage)
    hand_in = open_hand_in(student, [Path(os.path.abspath(folder))])  # noqa: PTH100 - `resolve` would follow links
    return next(submissions(hand_in, resolver), None) or without_files_of(stage, hand_in)
