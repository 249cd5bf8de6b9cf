"""Checks inside a stage's lab notebook, and graceful errors for cells that need unfinished code.

The notebook's kernel grades nothing: every check runs in a worker of its own, as in the terminal.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autograder.errors import AutograderError, GraderError
from autograder.reports import exercise_card
from autograder.reports.feedback import ExerciseFeedback, grading_note
from autograder.reports.feedback_builder import build_exercise_feedback
from autograder.results import SubmissionResult
from autograder.sandbox.supervisor import ForkServer
from autograder.sanitize import line
from autograder.student.check import check_with_suite
from autograder.student.plots import heatmaps
from autograder.student.target import CheckTarget, find_target
from autograder.submission import collect

__all__ = ["Lab", "heatmaps"]

EXECUTION = "NBGRADER_EXECUTION"  # nbgrader sets it: "autograde", "validate"
MAX_ERROR = 200  # characters of an exception, on one line


class NotPassedError(AssertionError):
    """Raised under `nbgrader validate` in a cell whose exercise is not right yet."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]  # the message; our own stack frames do not help


class ExerciseCheck:
    """The result of checking one exercise: a card where HTML is shown, else plain lines."""

    def __init__(self, feedback: ExerciseFeedback, *, hidden_is_here: bool) -> None:
        self.passed = feedback.first is None
        self._feedback = feedback
        self._note = grading_note(is_here=hidden_is_here) if self.passed else ""

    def __repr__(self) -> str:
        return exercise_card.text(self._feedback, points=False, note=self._note)

    def _repr_html_(self) -> str:
        return exercise_card.html(self._feedback, points=False, note=self._note)


class Lab:
    """The stage in *folder*, by default the notebook's folder.

    A fork server is started once and kept, so that a check takes a fraction of a second.
    """

    def __init__(self, folder: str | Path = ".") -> None:
        self._folder = Path(folder).resolve()
        self._server: ForkServer | None = None

    def check(self, exercise: str) -> ExerciseCheck | None:
        """Check *exercise* in the module as it is on disk: save your file first.

        Under `nbgrader validate` an exercise that is not right yet raises ``NotPassedError``, and
        one that is right shows nothing: nbgrader would read it as a number of points.
        Raises ``GraderError`` under `nbgrader autograde`: a student's kernel gives no points.
        """
        with _without_traceback():
            if os.environ.get(EXECUTION) == "autograde":
                msg = (
                    "This cell is graded by `autograder`, in its sandbox. nbgrader_config.py of "
                    "the course sets that up; run nbgrader in the folder of that file."
                )
                raise GraderError(msg)
            checked = self._check(exercise)
        if os.environ.get(EXECUTION) != "validate":
            return checked
        if not checked.passed:
            raise NotPassedError(repr(checked))
        return None

    @contextmanager
    def needs(self, *exercises: str) -> Iterator[None]:
        """Run the cell; where *exercises* are not ready yet, print so and let the notebook go on.

        No exception leaves the block: one line describes it. A cell may fail although the code is
        right, so the line does not call it wrong.
        """
        try:
            yield
        except NotImplementedError:
            are = "they are" if len(exercises) > 1 else "it is"
            print(  # noqa: T201  # a notebook shows what is printed
                f"First write {_names(exercises)}: this cell runs once {are} implemented."
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever half-written code raises
            print(  # noqa: T201  # likewise
                f"This cell could not run with {_names(exercises)} as it is now "
                f"({_describe_error(error)}). The grade cell shows whether that is a problem."
            )

    def _check(self, exercise: str) -> ExerciseCheck:
        target = find_target("", self._folder)
        known = [item.name for item in target.stage.exercises]
        if exercise not in known:
            msg = f"There is no exercise {exercise!r} here. Exercises: {', '.join(known)}."
            raise AutograderError(msg)
        result = self._check_in_worker(target, exercise)
        feedback = build_exercise_feedback(target.stage, result, exercise)
        if feedback is None:
            msg = f"The public suite of {target.stage.name} has no check of {exercise}."
            raise GraderError(msg)
        return ExerciseCheck(feedback, hidden_is_here=target.hidden_is_here)

    def _check_in_worker(self, target: CheckTarget, exercise: str) -> SubmissionResult:
        course = target.public
        submission = next(collect(target.file, course.stages, target.stage))
        if submission.code is None:
            raise AutograderError(submission.problem)
        if self._server is None:
            self._server = ForkServer("process", course.limits)
            self._server.wait_ready()
        try:
            return check_with_suite(
                course, submission, self._server, public=True, exercise=exercise
            )
        except GraderError:
            self._server.close()  # a fork server that failed can't be used again
            self._server = None
            raise


@contextmanager
def _without_traceback() -> Iterator[None]:
    """Let a notebook show our own errors as their message, without a traceback."""
    try:
        yield
    except AutograderError as error:
        message = [str(error)]
        error._render_traceback_ = lambda: message  # type: ignore[attr-defined]  # IPython asks for it
        raise


def _names(exercises: tuple[str, ...]) -> str:
    *first, last = [f"`{name}`" for name in exercises] or ["your module"]
    return f"{', '.join(first)} and {last}" if first else last


def _describe_error(error: BaseException) -> str:
    """Describe *error* in one short line, whatever its text contains or raises."""
    try:
        first, *_ = str(error).strip().split("\n")
    except Exception:  # noqa: BLE001  # it is a student's class
        first = ""
    kind = type(error).__name__
    return line(f"{kind}: {first}" if first else kind, MAX_ERROR)
