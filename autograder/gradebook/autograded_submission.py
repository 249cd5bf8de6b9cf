"""What the gradebook keeps of one submission; nothing here touches a disk or a database."""

from typing import NamedTuple

from autograder.authoring import lab_notebook
from autograder.authoring.lab_notebook import Notebook
from autograder.course import Stage
from autograder.errors import CourseError
from autograder.gradebook.autograded_notebook import (
    sanitized,
    tasks,
    unanswered,
    with_cards,
    with_module,
)
from autograder.gradebook.scores import Scores, scores
from autograder.results import SubmissionResult
from autograder.submission import Submission
from autograder.submission.assemble import MAX_NOTEBOOK
from autograder.submission.files import HandInFile, UnusableFile

MAX_STAMP = 200  # bytes of nbgrader's timestamp.txt
NO_NOTEBOOK = "No notebook was handed in, so the written answers count as missing."
NOT_READ = "Until it can be read, the written answers count as missing."


class Handed(NamedTuple):
    """One submission as the gradebook sees it."""

    notebook: Notebook
    blank: frozenset[str]  # written answers that hold nothing
    scores: Scores
    stamp: str


def master_of(stage: Stage) -> Notebook:
    """Read the instructor's lab of *stage*; raises ``CourseError`` where there is none."""
    try:
        return lab_notebook.instructor_notebook(stage.lab.read_bytes())
    except OSError as error:
        msg = f"{stage.lab} is missing; nbgrader keeps the points of a stage in its lab."
        raise CourseError(msg) from error


def hand(
    stage: Stage, master: Notebook, submission: Submission, result: SubmissionResult
) -> Handed:
    """Put together what the gradebook keeps; raises ``GraderError`` where there is no grade."""
    notebook, remarks = laid_over(master, submission)
    return finish(stage, master, submission, result, notebook, remarks)


def finish(
    stage: Stage,
    master: Notebook,
    submission: Submission,
    result: SubmissionResult,
    notebook: Notebook,
    remarks: tuple[str, ...],
) -> Handed:
    """Add to the sanitized *notebook* what was earned; raises ``GraderError`` without a grade."""
    earned = scores(stage, result, lab_notebook.grade_cell_points(master), remarks)
    blank = unanswered(master, notebook)
    if remarks:  # there is no notebook that a task could have been done in
        blank |= tasks(master)
    notebook = with_cards(notebook, earned.cards, earned.whole)
    if submission.code is not None and submission.module is not None:
        source = submission.module.decode("utf-8", "replace")
        notebook = with_module(notebook, submission.code.label, source)
    return Handed(notebook, blank, earned, _stamp(submission.stamp))


def laid_over(master: Notebook, submission: Submission) -> tuple[Notebook, tuple[str, ...]]:
    """Return the student's notebook over *master*, and what there is to say about it."""
    found = submission.lab
    if found is None:
        return sanitized(master, None), (NO_NOTEBOOK,)
    try:
        return sanitized(master, found.read(MAX_NOTEBOOK), found.label), ()
    except UnusableFile as error:
        return sanitized(master, None), (f"{error} {NOT_READ}",)


def _stamp(found: HandInFile | None) -> str:
    """Read when it was handed in, as far as that can be read."""
    if found is None:
        return ""
    try:
        return found.read(MAX_STAMP).decode("utf-8", "replace").strip()
    except UnusableFile:
        return ""
