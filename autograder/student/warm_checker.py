"""Checks one exercise after another, with torch, the suite and the fork server kept loaded."""

import contextlib
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from autograder.course import Handout, Stage
from autograder.disk import quoted
from autograder.errors import AutograderError, GraderError, UsageError
from autograder.reports.feedback import ExerciseFeedback
from autograder.reports.feedback_builder import build_exercise_feedback
from autograder.sandbox.spawned_workers import Workers, own_workers
from autograder.student import companion_show
from autograder.student.check import (
    NO_HIDDEN_SUITE,
    check_with_suite,
    course_with_hidden,
    student_file,
)
from autograder.student.learner_folder import gone
from autograder.student.progress import Task
from autograder.submission import collect

if TYPE_CHECKING:  # they import torch
    from autograder.companion import CompanionAnswer
    from autograder.grading.suite_runner import SuiteRunner
    from autograder.student.stage_picture import PictureRows


class CheckAnswer(NamedTuple):
    """The result of a check: *feedback* on the exercise, or a *message* from the kit.

    *is_whole_file* is true if the module can't run at all, so every exercise has this result.
    """

    feedback: ExerciseFeedback | None = None
    message: str = ""
    is_whole_file: bool = False


class WarmChecker:
    """Checks exercises, with the fork server and the suite of one stage kept open."""

    def __init__(self, own: Handout) -> None:
        self._own = own
        # The learner is waiting, so a check of an exercise ends after its first hang or crash.
        self._limits = replace(own.limits, restarts_per_exercise=1)
        self._server: Workers | None = own_workers(self._limits)
        self._opened = contextlib.ExitStack()
        self._runner: tuple[str, SuiteRunner] | None = None
        self._is_notebook = False  # whether the last checked file was one

    def close(self) -> None:
        """Close the suite and end the fork server."""
        self._opened.close()
        if self._server is not None:
            self._server.close()

    def prepare(self, task: Task) -> None:
        """Make the next check of *task* quicker, while nobody waits."""
        with contextlib.suppress(AutograderError):  # the next check says what is wrong
            if self._server is not None and self._runner is not None:
                self._server.prepare(task.stage.module, notebook=self._is_notebook)

    def picture(self, stage: Stage) -> "PictureRows | None":
        """Return the picture that the learner's module computes, or None."""
        from autograder.student.stage_picture import picture_rows  # noqa: PLC0415  # imports torch

        with contextlib.suppress(AutograderError, OSError):  # a stage can be finished without it
            submission = next(collect(student_file(stage.source, stage), self._own.stages, stage))
            if submission.code is not None and self._server is not None:
                self._server.wait_ready()
                return picture_rows(self._server, stage, submission.code)
        return None

    def companion(self, passed: Collection[str], stage: str = "") -> "CompanionAnswer | None":
        """Return what the companion shows with the passed exercises, up to those of *stage*.

        Return None if there is none, or if *stage* fills no slot. Raises ``AutograderError``.
        """
        if self._server is None or not companion_show.is_here(self._own):
            return None
        self._server.wait_ready()
        try:
            return companion_show.show(self._own, self._server, passed, stage=stage)
        except GraderError:
            self._restart()
            raise

    def check_hidden(self, task: Task) -> CheckAnswer:
        """Run the hidden suite on the exercise, if the course around the folder has it."""
        course = course_with_hidden(task.stage)
        if course is None:
            return CheckAnswer(message=NO_HIDDEN_SUITE)
        try:
            file = student_file(task.stage.source, task.stage)
            submission = next(collect(file, course.stages, course.stage(task.stage.name)))
            if submission.code is None or self._server is None:
                return CheckAnswer(message=submission.problem or "Press r, then try again.")
            self._server.wait_ready()
            self._close_suite()  # pytest runs one session at a time
            result = check_with_suite(
                course, submission, self._server, public=False, exercise=task.exercise.name
            )
        except GraderError as error:
            self._restart()
            return CheckAnswer(message=f"{error}. Press r to try again.")
        except AutograderError as error:
            return CheckAnswer(message=str(error))
        return CheckAnswer(build_exercise_feedback(task.stage, result, task.exercise.name))

    def check(self, task: Task) -> CheckAnswer:
        """Check the saved exercise; an error becomes the message of the result."""
        try:
            return self._check(task)
        except GraderError as error:
            self._restart()
            return CheckAnswer(message=f"{error}. Press r to try again.")
        except AutograderError as error:
            self._close_suite()  # so that the learner can fix its files
            return CheckAnswer(message=str(error))

    def _check(self, task: Task) -> CheckAnswer:
        from autograder.grading.grade import grade_one  # noqa: PLC0415  # imports torch

        stage = task.stage
        if gone(self._own) or not stage.source.is_dir():
            return CheckAnswer(message=_gone(self._own.root, stage), is_whole_file=True)
        try:
            file = student_file(stage.source, stage)
        except UsageError:
            back = f"put it back, or run `autograder reset {task.key}` in another terminal"
            message = f"{stage.stub.name} is not in {stage.name}/: {back}."
            return CheckAnswer(message=message, is_whole_file=True)
        submission = next(collect(file, self._own.stages, stage))
        if submission.code is None:
            return CheckAnswer(message=submission.problem, is_whole_file=True)
        self._is_notebook = submission.code.kind == "notebook"
        runner = self._suite(stage)
        if self._server is None:
            self._server = own_workers(self._limits)
        self._server.wait_ready()
        result = grade_one(runner, self._server, submission, exercise=task.exercise.name)
        if not result.exercises:
            raise GraderError(result.message or "the checks of this exercise are missing")
        feedback = build_exercise_feedback(stage, result, task.exercise.name)
        if feedback is None:
            return CheckAnswer(message=f"{task.key} has no public check.")
        return CheckAnswer(feedback, is_whole_file=bool(result.message))

    def _suite(self, stage: Stage) -> "SuiteRunner":
        from autograder.grading.suite_runner import open_suites  # noqa: PLC0415  # imports torch

        if self._runner is None or self._runner[0] != stage.name:
            self._close_suite()
            opened = self._opened.enter_context(open_suites(self._own, [stage], public=True))
            self._runner = stage.name, opened
        return self._runner[1]

    def _close_suite(self) -> None:
        """Close the suite, whose file may change before the next use."""
        self._runner = None
        self._opened.close()

    def _restart(self) -> None:
        if self._server is not None:
            self._server.close()  # a fork server that failed can't be used again
        self._server = None


def _gone(root: Path, stage: Stage) -> str:
    """Return the message for a missing folder: the learner's, or that of *stage* in it."""
    lost = stage.source if root.is_dir() else root
    return (
        f"The folder {lost} is gone. Put it back, or open another terminal in the folder of the "
        f"course and run `autograder start {quoted(root)}`, which adds the missing files."
    )
