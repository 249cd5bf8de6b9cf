"""From records to nbgrader: scores into its database, notebooks where formgrader looks for them.

One writer, one commit a student. What an instructor wrote by hand is never touched.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nbgrader.api import Gradebook

from autograder.authoring import lab_notebook
from autograder.course import Course, Stage
from autograder.errors import GraderError, UsageError
from autograder.gradebook.autograded_submission import Handed, hand, master_of
from autograder.gradebook.connection import NbgraderSetup, register
from autograder.gradebook.score_rows import penalise, row_of, save
from autograder.results import SubmissionResult
from autograder.submission import Submission
from autograder.submission.assemble import STAMP

READ_ONLY = 0o444  # as nbgrader leaves what was graded


class Written(NamedTuple):
    """How many submissions stand in the gradebook now, and what could not be written, and why."""

    submissions: int
    faults: tuple[str, ...]


class Writer:
    """The gradebook of *course*, ready for *submissions*.

    Made before the grading, which takes its time: raises ``UsageError`` and ``CourseError`` where
    nobody's result could be written. *registered* names the stages that the gradebook has been
    told of.
    """

    def __init__(self, course: Course, submissions: Sequence[Submission]) -> None:
        self._course = course
        self._setup = NbgraderSetup(course)
        _refuse_twins(submissions)
        named = sorted({item.stage for item in submissions if item.stage})
        self._masters = {name: master_of(course.stage(name)) for name in named}
        with self._setup.gradebook() as book:
            known = [(name, register(book, name, self._masters[name])) for name in named]
        self.registered = tuple(name for name, is_new in known if is_new)

    def write(
        self, submissions: Sequence[Submission], results: Sequence[SubmissionResult]
    ) -> Written:
        """Write *results*, in the order of *submissions*; one's trouble costs no other anything."""
        faults: list[str] = []
        with self._setup.gradebook() as book:
            for submission, result in zip(submissions, results, strict=True):
                try:
                    self._write(book, submission, result)
                except (GraderError, UsageError, OSError) as error:
                    book.db.rollback()
                    whose = " ".join(filter(None, [submission.student, submission.stage]))
                    faults.append(f"{whose}: {error}")
        return Written(len(submissions) - len(faults), tuple(faults))

    def _write(self, book: Gradebook, submission: Submission, result: SubmissionResult) -> None:
        if not submission.stage:
            raise UsageError(submission.problem)
        stage = self._course.stage(submission.stage)
        handed = hand(stage, self._masters[stage.name], submission, result)
        row = row_of(book, stage.name, submission.student, handed.stamp)
        save(book, row, handed.scores.points, handed.blank)
        penalise(row, self._setup.late)
        book.db.flush()
        place(self._setup.autograded(submission.student, stage.name), stage, submission, handed)
        book.db.commit()


def _refuse_twins(submissions: Sequence[Submission]) -> None:
    seen = Counter((item.student, item.stage) for item in submissions if item.stage)
    for (student, stage), count in seen.items():
        if count > 1:
            msg = (
                f"{student} has {count} submissions of {stage}; the gradebook keeps one. "
                "Name each place once."
            )
            raise UsageError(msg)


def place(folder: Path, stage: Stage, submission: Submission, handed: Handed) -> None:
    """Put what formgrader needs into *folder*, whole or not at all; what stood there is gone."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".autograded-", dir=folder.parent) as made:
        fresh = Path(made) / "fresh"
        fresh.mkdir()
        for name, content in _files(stage, submission, handed):
            (fresh / name).write_bytes(content)
            (fresh / name).chmod(READ_ONLY)
        if folder.exists():
            os.replace(folder, Path(made) / "before")  # noqa: PTH105  # both are folders
        os.replace(fresh, folder)  # noqa: PTH105  # likewise


def _files(stage: Stage, submission: Submission, handed: Handed) -> Iterator[tuple[str, bytes]]:
    yield stage.lab.name, lab_notebook.encode(handed.notebook)
    if submission.module is not None:
        yield stage.stub.name, submission.module
    if handed.stamp:
        yield STAMP, handed.stamp.encode()
