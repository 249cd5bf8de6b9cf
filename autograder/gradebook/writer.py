"""Writes results into nbgrader: scores into its database, notebooks for formgrader into its folder.

The only writer, with one commit per student. Manual scores and comments are never touched.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nbgrader.api import Gradebook
from sqlalchemy.exc import DatabaseError

from autograder.authoring import lab_notebook
from autograder.course import Course, Stage
from autograder.errors import AutograderError, UsageError
from autograder.gradebook.autograded_submission import (
    AutogradedSubmission,
    build_autograded,
    read_master,
)
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.registration import register
from autograder.gradebook.score_rows import (
    set_auto_scores,
    set_late_penalty,
    submitted_notebook,
)
from autograder.results import SubmissionResult
from autograder.submission import Submission
from autograder.submission.assemble import STAMP

READ_ONLY = 0o444  # nbgrader's permissions for graded files


class Written(NamedTuple):
    """How many submissions were written to the gradebook, and why others could not be."""

    submissions: int
    faults: tuple[str, ...]


class Writer:
    """The gradebook of *course*, ready for *submissions*.

    Made before the grading, which takes long: raises ``UsageError`` and ``CourseError`` where no
    result could be written. *setup* is nbgrader's, by default that of the course's files.
    *registered* names the stages that are new in the gradebook, or have changed.
    """

    def __init__(
        self,
        course: Course,
        submissions: Sequence[Submission],
        setup: NbgraderSetup | None = None,
    ) -> None:
        self._course = course
        self._setup = setup or NbgraderSetup.of_course(course)
        reject_duplicates(submissions)
        stages = sorted({item.stage for item in submissions if item.stage})
        self._masters = {name: read_master(course.stage(name)) for name in stages}
        with self._setup.gradebook() as book:
            changed = {name: register(book, name, self._masters[name]) for name in stages}
        self.registered = tuple(name for name in stages if changed[name])

    def write(
        self, submissions: Sequence[Submission], results: Sequence[SubmissionResult]
    ) -> Written:
        """Write *results*, which are in the order of *submissions*, and describe the failures."""
        faults = [
            f"{' '.join(filter(None, [submission.student, submission.stage]))}: {_describe(error)}"
            for submission, error in zip(
                submissions, self.write_each(submissions, results), strict=True
            )
            if error is not None
        ]
        return Written(len(submissions) - len(faults), tuple(faults))

    def write_each(
        self, submissions: Sequence[Submission], results: Sequence[SubmissionResult]
    ) -> Iterator[Exception | None]:
        """Write each result; yield None, or why it could not be written.

        A failure changes neither a row nor a file of that student, and does not affect others.
        """
        with self._setup.gradebook() as book:
            for submission, result in zip(submissions, results, strict=True):
                try:
                    self._write(book, submission, result)
                except DatabaseError:
                    raise  # no result can be written
                except Exception as error:  # noqa: BLE001  # this submission's; others are written
                    book.db.rollback()
                    yield error
                else:
                    yield None

    def _write(self, book: Gradebook, submission: Submission, result: SubmissionResult) -> None:
        if not submission.stage:
            raise UsageError(submission.problem)
        stage = self._course.stage(submission.stage)
        autograded = build_autograded(stage, self._masters[stage.name], submission, result)
        row = submitted_notebook(book, stage.name, submission.student, autograded.timestamp)
        set_auto_scores(book, row, autograded.points, autograded.blank)
        set_late_penalty(row, self._setup.late)
        book.db.flush()
        folder = self._setup.autograded(submission.student, stage.name)
        install_atomically(folder, _files(stage, submission, autograded))
        book.db.commit()


def _describe(error: Exception) -> str:
    is_expected = isinstance(error, AutograderError | OSError)
    return str(error) if is_expected else f"{type(error).__name__}: {error}"


def reject_duplicates(submissions: Sequence[Submission]) -> None:
    """Raise ``UsageError`` if a student has several submissions of one stage."""
    counts = Counter((item.student, item.stage) for item in submissions if item.stage)
    for (student, stage), count in counts.items():
        if count > 1:
            msg = (
                f"{student} has {count} submissions of {stage}; the gradebook keeps one. "
                "Name each place once."
            )
            raise UsageError(msg)


def install_atomically(folder: Path, files: Iterator[tuple[str, bytes]]) -> None:
    """Replace *folder* by one that holds *files*, or leave it as it was."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".autograded-", dir=folder.parent) as temporary:
        new = Path(temporary) / "new"
        new.mkdir()
        for name, content in files:
            (new / name).write_bytes(content)
            (new / name).chmod(READ_ONLY)
        if folder.exists():
            os.replace(folder, Path(temporary) / "old")  # noqa: PTH105  # both are folders
        os.replace(new, folder)  # noqa: PTH105  # likewise


def _files(
    stage: Stage, submission: Submission, autograded: AutogradedSubmission
) -> Iterator[tuple[str, bytes]]:
    yield stage.lab.name, lab_notebook.encode(autograded.notebook)
    if submission.module is not None:
        yield stage.stub.name, submission.module
    if autograded.timestamp:
        yield STAMP, autograded.timestamp.encode()
