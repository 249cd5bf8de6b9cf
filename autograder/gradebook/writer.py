"""Writes scores into nbgrader's database, and notebooks into the folder that formgrader reads.

No other module writes scores. The scores of each student are committed together. Manual scores and
comments are never changed.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy
from nbgrader.api import BaseCell, Gradebook
from sqlalchemy.exc import DatabaseError

from autograder.authoring import lab_notebook
from autograder.authoring.lab_notebook import Notebook
from autograder.course import Course, Stage
from autograder.disk import replacing_folder, require_space
from autograder.errors import AutograderError, UsageError
from autograder.gradebook.autograded_notebook import changed_cells
from autograder.gradebook.autograded_submission import (
    AutogradedSubmission,
    build_autograded,
    read_master,
)
from autograder.gradebook.collection import NO_TIME, is_marked_late, no_effect
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.score_rows import (
    auto_points,
    outdated_grades,
    register,
    set_auto_scores,
    set_late_penalty,
    submitted_notebook,
    total_points,
)
from autograder.grading.run import Written
from autograder.results import SubmissionResult
from autograder.stored_results import ScoreChanges
from autograder.submission import Submission
from autograder.submission.assemble import FEEDBACK_KEY, STAMP
from autograder.submission.collect import SubmissionOutline
from autograder.times import parse_time

READ_ONLY = 0o444  # nbgrader's permissions for graded files
_NO_CHANGE = sqlalchemy.text("UPDATE assignment SET name = name WHERE 1 = 0")


class Writer:
    """Writes the results of *submissions* into the gradebook of *course*.

    Create it before the grading, which takes a long time: the constructor raises ``UsageError`` or
    ``CourseError`` if no result could be written. *setup* is by default read from the course's
    files. *registered* lists the stages that are new in the gradebook or have changed.
    """

    def __init__(
        self,
        course: Course,
        submissions: Iterable[Submission] | Iterable[SubmissionOutline],
        setup: NbgraderSetup | None = None,
    ) -> None:
        self._course = course
        self._setup = setup or NbgraderSetup.of_course(course)
        stages = sorted(reject_duplicates(submissions))
        self._masters = {name: read_master(course.stage(name)) for name in stages}
        with self._setup.gradebook() as book:
            changed = {name: register(book, name, self._masters[name]) for name in stages}
            book.db.execute(_NO_CHANGE)  # fails if the database can't be written
            book.db.rollback()
        self.registered = tuple(name for name in stages if changed[name])
        self._changes = ScoreChanges()
        self._totals = ScoreChanges("total")  # if manual scores or a penalty make them differ
        self._marked: defaultdict[str, list[str]] = defaultdict(list)  # students, by stage
        self._untimed: list[str] = []  # remarks on times that can't be read
        folder = Path(self._setup.coursedir.root, self._setup.coursedir.autograded_directory)
        try:
            require_space(folder)
        except OSError as error:
            msg = f"{folder} can't be written: {error.strerror}. Nothing was graded."
            raise UsageError(msg) from error

    def write(
        self, submissions: Sequence[Submission], results: Sequence[SubmissionResult]
    ) -> Written:
        """Write *results*, given in the order of *submissions*, and describe the failures."""
        faults = [
            f"{' '.join(filter(None, [submission.student, submission.stage]))}: {_describe(error)}"
            for submission, error in zip(
                submissions, self.write_each(submissions, results), strict=True
            )
            if error is not None
        ]
        return Written(len(submissions) - len(faults), tuple(faults), tuple(self.remarks()))

    def remarks(self) -> Iterator[str]:
        """Yield one line on the scores that changed, then one on each outdated grade."""
        if changes := str(self._changes):
            yield changes
        if self._totals.are_any:
            yield str(self._totals)
        yield from self._untimed
        for stage, students in sorted(self._marked.items()):
            yield from no_effect(self._setup.late, stage, students)
        with self._setup.gradebook() as book:
            yield from outdated_grades(book, self._setup.coursedir)

    def write_each(
        self, submissions: Sequence[Submission], results: Sequence[SubmissionResult]
    ) -> Iterator[Exception | None]:
        """Write each result; yield None, or the exception if it could not be written.

        A failure leaves the rows and files of that student unchanged and does not affect the
        others.
        """
        with self._setup.gradebook() as book, _keeping_labs(book):
            for submission, result in zip(submissions, results, strict=True):
                try:
                    self._write(book, submission, result)
                except DatabaseError:
                    raise  # no result can be written
                except Exception as error:  # noqa: BLE001  # the other submissions are still written
                    book.db.rollback()
                    yield error
                else:
                    yield None

    def _write(self, book: Gradebook, submission: Submission, result: SubmissionResult) -> None:
        if not submission.stage:
            raise UsageError(submission.problem)
        if result.sha256 and submission.sha256 != result.sha256:
            msg = "the files have changed since they were graded. Grade this student again."
            raise UsageError(msg)
        stage = self._course.stage(submission.stage)
        autograded = build_autograded(stage, self._masters[stage.name], submission, result)
        moment = parse_time(autograded.timestamp, self._course.zone)
        row = submitted_notebook(book, stage.name, submission.student, moment)
        folder = self._setup.autograded(submission.student, stage.name)
        changed = _changed_cells(folder / stage.lab.name, autograded.notebook)
        before = auto_points(row), total_points(row)
        set_auto_scores(book, row, autograded.points, autograded.blank, changed)
        set_late_penalty(row, self._setup.late)
        after = auto_points(row), total_points(row)
        book.db.flush()
        with replacing_folder(folder) as new:
            for name, content in _files(stage, submission, autograded, moment):
                (new / name).write_bytes(content)
                (new / name).chmod(READ_ONLY)
        book.db.commit()
        who = submission.student, stage.name
        if is_marked_late(row):
            self._marked[stage.name].append(submission.student)
        self._untimed += [
            f"{', '.join(who)}: {one}" for one in result.notices if one.startswith(NO_TIME)
        ]
        self._changes.add(*who, before[0], after[0])
        if (before[0], after[0]) != (before[1], after[1]):
            self._totals.add(*who, before[1], after[1])


@contextmanager
def _keeping_labs(book: Gradebook) -> Iterator[None]:
    """Keep the cells of all labs in memory, so that they are not read again after each commit.

    The grades of a student are read just before they are written, because somebody may have changed
    them in the meantime.
    """
    book.db().expire_on_commit = False
    cells = book.db.query(BaseCell).all()
    yield
    del cells


def _changed_cells(earlier: Path, notebook: Notebook) -> frozenset[str]:
    try:
        before = lab_notebook.decode(earlier.read_bytes())
    except (OSError, ValueError, KeyError, TypeError):  # missing, or not a valid notebook
        before = {"cells": []}
    return changed_cells(before, notebook)


def _describe(error: Exception) -> str:
    is_expected = isinstance(error, AutograderError | OSError)
    return str(error) if is_expected else f"{type(error).__name__}: {error}"


def reject_duplicates(
    submissions: Iterable[Submission] | Iterable[SubmissionOutline],
) -> Collection[str]:
    """Return the names of the stages; raise ``UsageError`` if a student submitted one twice."""
    students: dict[str, set[str]] = defaultdict(set)
    for item in submissions:
        if not item.stage:
            continue
        if item.student in students[item.stage]:
            raise UsageError(
                f"{item.student} has several submissions of {item.stage}; the gradebook keeps one. "
                "Pass each path only once."
            )
        students[item.stage].add(item.student)
    return students.keys()


def _files(
    stage: Stage,
    submission: Submission,
    autograded: AutogradedSubmission,
    moment: dt.datetime | None,
) -> Iterator[tuple[str, bytes]]:
    yield stage.lab.name, lab_notebook.encode(autograded.notebook)
    if submission.module is not None:
        yield stage.stub.name, submission.module
    if moment:
        yield STAMP, f"{moment} UTC".encode()
    if autograded.secret:  # nbgrader also copies it into feedback/
        yield FEEDBACK_KEY, autograded.secret.encode()
