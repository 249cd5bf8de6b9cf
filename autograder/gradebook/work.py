"""One stage's submissions, collected where nbgrader keeps them and graded all at once."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from autograder.authoring.lab_notebook import Notebook
from autograder.course import Course, Stage
from autograder.gradebook.autograded_submission import master_of
from autograder.results import SubmissionResult
from autograder.submission import Submission, collect_one


class Work(NamedTuple):
    """What one student handed in for a stage, and what it earned."""

    stage: Stage
    master: Notebook
    submission: Submission
    result: SubmissionResult


def works(course: Course, stage: Stage, folders: Mapping[str, Path]) -> dict[str, Work]:
    """Grade the submissions in *folders*, by student, in the sandbox.

    Raises ``CourseError``, ``SandboxError``, and ``UsageError`` if a folder's name can't be a
    student's id.
    """
    from autograder.grading.grade import grade  # noqa: PLC0415  # imports torch

    master = master_of(stage)
    submissions = [
        collect_one(folder, student, stage, course.stages) for student, folder in folders.items()
    ]
    results = grade(course, submissions).submissions
    return {
        student: Work(stage, master, submission, result)
        for student, submission, result in zip(folders, submissions, results, strict=True)
    }
