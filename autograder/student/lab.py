"""A stage's lab, in a notebook beside the student's module: checks in place, and soft landings.

The notebook's kernel never judges: every check runs in a worker of its own, as in the terminal.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autograder.errors import AutograderError, GraderError
from autograder.reports import exercise_card
from autograder.reports.feedback_builder import compose_exercise
from autograder.results import Outcome, Status, SubmissionResult
from autograder.sandbox.supervisor import ForkServer
from autograder.sanitize import line
from autograder.student.check import check_with_suite
from autograder.student.plots import heatmaps
from autograder.student.target import Place, find
from autograder.submission import collect

__all__ = ["Lab", "heatmaps"]

EXECUTION = "NBGRADER_EXECUTION"  # nbgrader sets it: "autograde", "validate"
PUBLIC_ONLY = "The hidden suite, which gives the points, stays with your instructor."
TOLD = 200  # characters of an exception, on one line


class NotPassedError(AssertionError):
    """What `nbgrader validate` is to find in a cell whose exercise is not right yet."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]  # the sentences; a stack of our own files would help nobody


class Checked:
    """How one exercise stands: a card where HTML is shown, else plain lines."""

    def __init__(self, passed: bool, html: str, text: str) -> None:  # noqa: FBT001  # a fact, no flag
        self.passed = passed
        self._html = html
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html


class Lab:
    """The stage in *folder*, by default where the notebook lies.

    A sandbox is started once and stays warm, so that a check takes a fraction of a second.
    """

    def __init__(self, folder: str | Path = ".") -> None:
        self._folder = Path(folder).resolve()
        self._fork_server: ForkServer | None = None

    def check(self, exercise: str) -> Checked | None:
        """Check *exercise* in the module as it lies on disk: save your file first.

        Under `nbgrader validate` an exercise that is not right yet raises ``NotPassedError``, and
        nothing is shown of one that is: nbgrader would take it for a number of points.
        Raises ``GraderError`` where points are to be given: no student's kernel gives any.
        """
        with _plainly():
            if os.environ.get(EXECUTION) == "autograde":
                msg = (
                    "This cell is graded by `autograder`, in its sandbox. nbgrader_config.py of "
                    "the course sets that up; run nbgrader where that file lies."
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
        """Run what stands below; where *exercises* don't serve yet, say so and let the tour go on.

        Nothing that is raised inside gets out: one line tells what it was. A picture may look at
        right code from a side that it does not have, so the line accuses nobody.
        """
        try:
            yield
        except NotImplementedError:
            print(f"First {self._named(exercises)}: this comes alive once it is written.")  # noqa: T201  # it speaks in a notebook
        except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever half-written code raises
            print(  # noqa: T201  # likewise
                f"This cell could not run with {self._named(exercises)} as it stands "
                f"({_told(error)}). The grade cell says whether that matters."
            )

    def _check(self, exercise: str) -> Checked:
        place = find("", self._folder)
        known = [item.name for item in place.stage.exercises]
        if exercise not in known:
            msg = f"There is no exercise {exercise!r} here. Exercises: {', '.join(known)}."
            raise AutograderError(msg)
        result = self._runner(place, exercise)
        if result.status is Status.GRADER_ERROR:
            self._let_go()  # a sandbox that broke serves nobody
            raise GraderError(result.message)
        told = compose_exercise(place.stage, result, exercise)
        if told is None:
            msg = f"The public suite of {place.stage.name} holds no check of {exercise}."
            raise GraderError(msg)
        checks = [check for item in result.exercises for check in item.checks]
        passed = all(check.outcome is Outcome.PASSED for check in checks)
        note = PUBLIC_ONLY if passed else ""
        return Checked(
            passed,
            exercise_card.html(told, points=False, note=note),
            exercise_card.text(told, points=False, note=note),
        )

    def _runner(self, place: Place, exercise: str) -> SubmissionResult:
        submission = next(collect(place.file, place.public.stages, place.stage))
        if submission.code is None:
            raise AutograderError(submission.problem)
        return check_with_suite(
            place.public, submission, self._warm(place), public=True, exercise=exercise
        )

    def _warm(self, place: Place) -> ForkServer:
        if self._fork_server is None:
            self._fork_server = ForkServer("process", place.public.limits)
            self._fork_server.wait_ready()
        return self._fork_server

    def _let_go(self) -> None:
        """End the sandbox; the next check starts another."""
        if self._fork_server is not None:
            self._fork_server.close()
            self._fork_server = None

    @staticmethod
    def _named(exercises: tuple[str, ...]) -> str:
        *first, last = [f"`{name}`" for name in exercises] or ["your module"]
        return f"{', '.join(first)} and {last}" if first else last


@contextmanager
def _plainly() -> Iterator[None]:
    """Let a notebook show an error of ours as its sentences, without a stack of our own files."""
    try:
        yield
    except AutograderError as error:
        sentences = [str(error)]
        error._render_traceback_ = lambda: sentences  # type: ignore[attr-defined]  # IPython asks for it
        raise


def _told(error: BaseException) -> str:
    """Put *error* on one short line, whatever its text is, or does."""
    try:
        first, *_ = str(error).strip().split("\n")
    except Exception:  # noqa: BLE001  # it is a student's class
        first = ""
    kind = type(error).__name__
    return line(f"{kind}: {first}" if first else kind, TOLD)
