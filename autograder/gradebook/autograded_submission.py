"""Builds the notebook and the scores that the gradebook stores for one submission."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from autograder.authoring import lab_notebook
from autograder.authoring.lab_notebook import Notebook
from autograder.course import Stage
from autograder.errors import CourseError, GraderError
from autograder.gradebook.autograded_notebook import (
    CellOutput,
    add_outputs,
    append_module,
    merge_student_cells,
)
from autograder.reports.feedback_builder import build_exercise_feedback, exercise_text
from autograder.reports.html import exercise_card, render
from autograder.results import Status, SubmissionResult
from autograder.submission import Submission
from autograder.submission.files import SubmittedFile, UnusableFile, from_utf16
from autograder.submission.notebook import MAX_NOTEBOOK
from autograder.submission.written_answers import NO_LAB, written_answers

MAX_TEXT = 200  # bytes of nbgrader's timestamp.txt and submission_secret.txt
NO_NOTEBOOK = "No notebook was submitted, so the written answers count as missing."
NOT_READ = "The written answers wait to be graded by hand."


class AutogradedSubmission(NamedTuple):
    """Holds the data of one submission that the gradebook stores."""

    notebook: Notebook
    points: Mapping[str, float | None]  # by grade cell; None if nothing could be graded
    blank: frozenset[str]  # the names of unanswered written questions and tasks
    timestamp: str  # the text of nbgrader's timestamp.txt; "" if there is none
    secret: str  # the text of submission_secret.txt, on which the feedback page's name depends


def read_master(stage: Stage) -> Notebook:
    """Read the lab of *stage* with the released points; raise ``CourseError`` if one is missing."""
    built = stage.assignment / stage.lab.name
    if not stage.lab.is_file():
        msg = f"{stage.lab} is missing; nbgrader reads the points of a stage from its lab."
        raise CourseError(msg)
    try:
        points = lab_notebook.grade_cell_points(lab_notebook.decode(built.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CourseError(f"{built} is missing or damaged: run `autograder release`.") from error
    lab = lab_notebook.build_source_lab(stage.lab, points)
    return lab_notebook.instructor_notebook(lab, written=stage.written)


def build_autograded(
    stage: Stage, master: Notebook, submission: Submission, result: SubmissionResult
) -> AutogradedSubmission:
    """Build the gradebook's data for *submission*; raise ``GraderError`` without a valid grade."""
    points = exercise_points(stage, result, lab_notebook.grade_cell_points(master))
    notebook, remarks = merge_answers(master, submission)
    blank = written_answers(stage, submission.lab).blank
    notebook = attach_feedback(stage, notebook, result, list(points), remarks)
    if submission.code is not None and submission.module is not None:
        source = submission.module.decode("utf-8", "replace")
        notebook = append_module(notebook, submission.code.label, source)
    timestamp, secret = text_of(submission.stamp).strip(), text_of(submission.secret)
    return AutogradedSubmission(notebook, points, blank, timestamp, secret)


def exercise_points(
    stage: Stage, result: SubmissionResult, limits: Mapping[str, float]
) -> dict[str, float | None]:
    """Return the points earned in each grade cell; *limits* holds the maximum of each.

    If nothing could be graded, every cell has ``None`` and waits to be graded by hand, so that no
    export treats it as a zero. Raises ``GraderError`` if there is no grade, or if a score is not a
    number within its limit.
    """
    if result.status is Status.GRADER_ERROR or result.score is None:
        msg = f"{result.student}, {result.stage}: {result.message or 'there is no grade.'}"
        raise GraderError(msg)
    if result.status is Status.UNREADABLE:
        return dict.fromkeys(limits)
    earned = {exercise.name: exercise.score for exercise in result.exercises}
    for name, limit in limits.items():
        score = earned.setdefault(name, 0.0)
        if not math.isfinite(score) or not 0 <= score <= limit:
            raise GraderError(
                f"{name}: {score} is not a score between 0 and {limit}. Has the suite changed "
                "since the lab was built? Run `autograder release`, then grade again."
            )
    if unknown := set(earned) - set(limits):
        raise GraderError(f"{stage.lab} has no grade cell for {', '.join(sorted(unknown))}.")
    return {name: float(earned[name]) for name in limits}


def merge_answers(master: Notebook, submission: Submission) -> tuple[Notebook, tuple[str, ...]]:
    """Return *master* with the student's answers, and a remark if there is no usable notebook."""
    file = submission.lab
    if file is None:
        return merge_student_cells(master, None), (NO_NOTEBOOK,)
    try:
        return merge_student_cells(master, file.read(MAX_NOTEBOOK), file.label), ()
    except UnusableFile as error:
        return merge_student_cells(master, None), (f"{error} {NOT_READ}",)


def attach_feedback(
    stage: Stage,
    notebook: Notebook,
    result: SubmissionResult,
    exercises: list[str],
    remarks: tuple[str, ...],
) -> Notebook:
    """Return *notebook* with feedback on each of *exercises* and on the whole submission."""
    outputs = {name: _exercise_output(stage, result, name) for name in exercises}
    said = (NO_LAB, *(remark.removesuffix(f" {NOT_READ}") for remark in remarks))
    notices = [notice for notice in result.notices if not (remarks and notice.startswith(said))]
    lines = [line for line in (result.message, *remarks, *notices) if line]
    return add_outputs(notebook, outputs, _plain_output(lines) if lines else None)


def _exercise_output(stage: Stage, result: SubmissionResult, name: str) -> CellOutput:
    feedback = build_exercise_feedback(stage, result, name)
    if feedback is None:
        return _plain_output([f"· {name}: not graded. {result.message}".strip()])
    html = exercise_card(feedback, points=True)
    return CellOutput(html, exercise_text(feedback, points=True))


def _plain_output(lines: list[str]) -> CellOutput:
    return CellOutput(render("plain.html", lines=lines), "\n".join(lines))


def text_of(file: SubmittedFile | None) -> str:
    """Return the text of a small file that nbgrader or an editor wrote; "" if it can't be read."""
    if file is None:
        return ""
    try:
        data = file.read(MAX_TEXT)
    except UnusableFile:
        return ""
    text = from_utf16(data)  # Windows' editors write it, and put a mark in front of UTF-8
    return (data.decode("utf-8-sig", "replace") if text is None else text).strip("\ufeff")
