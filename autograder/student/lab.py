"""Provides ``Lab``, with which a notebook checks exercises and uses the student's module.

The notebook's kernel grades nothing: every check runs in a separate worker, as in the terminal.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from autograder.course import MADE, handout, is_handout
from autograder.errors import AutograderError, GraderError, UsageError
from autograder.reports.feedback import ExerciseFeedback, grading_note
from autograder.reports.feedback_builder import build_exercise_feedback, exercise_text
from autograder.reports.html import exercise_card
from autograder.results import SubmissionResult
from autograder.sandbox.spawned_workers import Workers, own_workers
from autograder.student import lab_exercises
from autograder.student.check import CheckTarget, check_with_suite, find_target
from autograder.student.companion_show import show_here
from autograder.student.course_modules import course_module, folder_with, module_names
from autograder.student.learner_folder import find_stages, released_folder, remember, solved_stage
from autograder.student.live_module import (
    CellTimeError,
    LiveModule,
    NotReadyError,
    describe,
    line_in,
    time_limit,
)
from autograder.student.notebook_place import stage_folder, without_traceback
from autograder.student.pictures import (
    Drawing,
    curves,
    embed,
    explore,
    heatmap_panels,
    heatmaps,
    shapes,
    side_by_side,
)
from autograder.student.predictions import (
    MarkdownText,
    calibration,
    checked,
    offer,
    saved_guesses,
    shown_answer,
)
from autograder.student.progress import digest_of
from autograder.submission import collect
from autograder.submission.notebook import cell_name, saved_cells
from autograder.submission.written_answers import Prediction, answers

if TYPE_CHECKING:  # imports torch
    from autograder.companion import CompanionAnswer

__all__ = [  # what labs import
    "Lab",
    "NotPassedError",
    "curves",
    "embed",
    "explore",
    "heatmap_panels",
    "heatmaps",
    "shapes",
    "side_by_side",
]

EXECUTION = "NBGRADER_EXECUTION"  # nbgrader sets it: "autograde", "validate"
CELL_SECONDS = 120.0  # of processor time; a cell that trains a small model takes about twenty
STORY_SECONDS = 30.0  # a text takes about one, and more on a busy machine
TEXT_WIDTH = 80  # columns
UNWRITTEN = {"", "YOUR ANSWER HERE", "*Write your answer here.*"}
SCHEME = ("### BEGIN MARK SCHEME", "### END MARK SCHEME")  # `release` removes the text between them
NO_MODEL_ANSWER = (
    "There is no model answer here: in a class, an instructor reads your answer. If you learn "
    "alone, install the wheel with the solutions, or work inside a clone of the course. This "
    "cell then shows a full answer."
)


class NotPassedError(AssertionError):
    """Raised under `nbgrader validate` in a cell whose exercise is not right yet."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]  # only the message: the kit's stack frames do not help


class _NoResultError(LookupError):
    """Raised if a cell uses a result, its argument, that no cell above has made yet."""


class CellResults(dict[str, Any]):
    """Results of cells for later cells, by name."""

    def __missing__(self, name: str) -> Any:
        raise _NoResultError(name)


class ExerciseCheck:
    """The result of one exercise: a card in HTML, or plain lines."""

    def __init__(self, feedback: ExerciseFeedback, note: str) -> None:
        self.passed = feedback.first is None
        self._feedback = feedback
        self._note = note

    def __repr__(self) -> str:
        return exercise_text(self._feedback, points=False, note=self._note)

    def _repr_html_(self) -> str:
        return exercise_card(self._feedback, points=False, note=self._note)


class CompanionText:
    """The output of the companion, as plain lines."""

    def __init__(self, answer: "CompanionAnswer") -> None:
        self.answer = answer

    def __repr__(self) -> str:
        from autograder.companion import answer_lines  # noqa: PLC0415  # imports torch

        return "\n".join(answer_lines(self.answer, TEXT_WIDTH))


class CourseModules:
    """The modules of the course of the stage in *folder*, as attributes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getattr__(self, name: str) -> ModuleType:
        if name.startswith("_"):  # Python and Jupyter look for optional methods
            raise AttributeError(name)
        with without_traceback():
            return course_module(self._folder, name)

    def __dir__(self) -> list[str]:
        return module_names(self._folder)


class Lab:
    """Gives a notebook the stage in *folder*, a path or a name, by default the notebook's folder.

    For an author, who runs a lab in ``source/``, the module and the checks are those in
    ``assignments/``. The fork server keeps running, so a check takes a fraction of a second.
    """

    def __init__(self, folder: str | Path = ".") -> None:
        self._given = folder
        self._server: Workers | None = None
        self._file: Path | None = None
        self._guesses: dict[str, Prediction] = {}  # by the name of the answer
        self._checked_module = ""  # the digest of the module that had these outcomes
        self._outcomes: dict[str, bool] = {}
        self._written = b""  # the module after the last cell with %%exercise
        lab_exercises.offer_magic(self._write)

    @cached_property
    def _folder(self) -> Path:
        """The folder of the stage; raises ``UsageError`` if it is not found."""
        with without_traceback():
            return released_folder(stage_folder(self._given))

    @property
    def course(self) -> CourseModules:
        """The course's own modules: ``lab.course.texts`` imports ``source/course/texts.py``."""
        return CourseModules(self._folder)

    def drawing(self, name: str) -> Drawing:
        """Show the file *name*.svg of what the course's tools made, or of its modules."""
        with without_traceback():
            for file in (f"{MADE}/{name}.svg", f"{name}.svg"):
                if shared := folder_with(self._folder, file):
                    return Drawing((shared / file).read_text("utf-8"))
            msg = f"The drawing {name}.svg is missing. Run `autograder start`, which adds it."
            raise UsageError(msg)

    def module(self, stage: str = "") -> LiveModule:
        """Return the student's module, which always has the names of the last saved file.

        *stage* names another stage in the same folder; without one, it is the stage of this lab.
        """
        if stage:
            folder = self._folder.parent / stage
            found = handout(folder).stages if is_handout(folder) else ()
            return LiveModule(found[0].stub if found else folder)
        with without_traceback():
            self._file = handout(self._folder).stages[0].stub
        return LiveModule(self._file)

    def reset(self, exercise: str) -> None:
        """Restore *exercise* as it was received, and keep a copy of the module."""
        with without_traceback():
            print(*lab_exercises.reset(self._folder, exercise), sep="\n")  # noqa: T201  # below the cell

    def check(self, exercise: str = "") -> ExerciseCheck | None:
        """Check *exercise*, which must be given, in the saved module, so save your file first.

        Under `nbgrader validate`, an exercise that is not right yet raises ``NotPassedError``. One
        that is right returns None, because nbgrader would read a result as points.
        Raises ``GraderError`` under `nbgrader autograde`, because a student's kernel must not give
        points.
        """
        with without_traceback():
            if os.environ.get(EXECUTION) == "autograde":
                raise GraderError(
                    "`autograder` grades this cell in its sandbox. The course's nbgrader_config.py "
                    "sets that up, so run nbgrader in the folder of that file."
                )
            checked = self._check(exercise)
        if os.environ.get(EXECUTION) != "validate":
            return checked
        if not checked.passed:
            raise NotPassedError(repr(checked))
        return None

    def _write(self, exercise: str, cell: str) -> ExerciseCheck | None:
        """Write *cell* as *exercise* into the module, and check it: the magic ``%%exercise``."""
        if os.environ.get(EXECUTION) == "autograde":
            return self.check(exercise)  # raises
        with without_traceback():
            done = lab_exercises.write_cell(self._folder, exercise, cell, self._written)
            self._written = done.module
        print(*done.sentences, sep="\n")  # noqa: T201  # a notebook shows it below its cell
        return self.check(done.exercise)

    @contextmanager
    def needs(self, *exercises: str) -> Iterator[None]:
        """Run a cell that uses *exercises*; if it fails, print why and let the notebook continue.

        The line does not call the student's code wrong, because a cell may also fail for other
        reasons. A cell that runs too long is stopped.
        """
        names, begun = _names(exercises), time.monotonic()
        try:
            with time_limit(CELL_SECONDS):
                try:
                    yield
                except _NoResultError:
                    if self._file:
                        live = LiveModule(self._file)
                        _ = [getattr(live, name) for name in exercises]  # a problem is the reason
                    raise
        except NotReadyError as error:
            _give_up(f"This cell waits for {names}. {error}")
        except CellTimeError as error:
            number = line_in(error, self._file)
            where = f"in line {number} of {self._file.name}" if self._file and number else "here"
            _give_up(
                f"This cell was stopped after {time.monotonic() - begun:.0f} s, {where}. "
                f"Does a loop in {names} never end?"
            )
        except _NoResultError as error:
            _give_up(
                f"This cell uses the result {error.args[0]!r} of a cell above. "
                "Run that one first; it has to come to its end."
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001  # half-written code may raise anything
            are = "they are" if len(exercises) > 1 else "it is"
            _give_up(
                f"First write {names}: this cell runs once {are} implemented."
                if _is_unwritten(error, self._file)
                else f"This cell could not run with your current {names} "
                f"({describe(error, self._file)}). The grade cell shows whether that is a problem."
            )

    def results(self) -> CellResults:
        """Return an empty dictionary for what cells make, such as trained models, by name.

        A cell that `needs` exercises and uses a missing name ends with one sentence.
        """
        return CellResults()

    def predict(
        self,
        question: str,
        choices: Sequence[str],
        *,
        name: str = "",
        guess: int | str | None = None,
        sure: float | None = None,
    ) -> None:
        """Ask *question*, and show the learner's guess once there is one.

        A guess is the number of one of the *choices*, from 1, with the confidence *sure* in
        percent. It is given here or with the controls below, and kept in the saved notebook.
        *name* is that of the answer, which ``answer`` then opens.
        """
        try:
            made = checked(question, choices, guess, sure)
        except ValueError as error:
            print(f"This guess is not stored: {error}")  # noqa: T201  # a notebook shows it
            made = checked(question, choices, None, None)
        if not made.guess:
            same = [one for one in self._saved_guesses() if one[:2] == made[:2]]
            made = same[-1] if same else made
        self._guesses[name or question] = made
        offer(made, lambda guessed: self._guesses.update({name or question: guessed}))

    def answer(self, name: str) -> MarkdownText | None:
        """Show the answer *name* of the course if there is a guess, else how to make one."""
        with without_traceback():
            known = answers(self._folder)
            if name not in known:
                msg = f"There is no answer {name!r} here. Answers: {', '.join(known) or 'none'}."
                raise AutograderError(msg)
        made = self._guesses.get(name)
        if made is None or not made.guess:
            print("This answer opens after your guess. Guess above, and run this cell again.")  # noqa: T201  # a notebook shows it
            return None
        return shown_answer(known[name], made)

    def guesses(self) -> None:
        """Print how well the learner's confidence fits the guesses in this lab."""
        with without_traceback():
            known = answers(self._folder)
        compared = [
            (made, made.guess == known[name].right)
            for name, made in self._guesses.items()
            if made.guess and name in known
        ]
        print(calibration(compared))  # noqa: T201  # a notebook shows it

    def _saved_guesses(self) -> list[Prediction]:
        try:
            return [
                one for file in sorted(self._folder.glob("*.ipynb")) for one in saved_guesses(file)
            ]
        except AutograderError:  # a lab without its stage has no saved guess
            return []

    def story(self, prompt: str = "", **changed: object) -> CompanionText | None:
        """Let the course's companion write with this stage and all that has passed before.

        Each of *changed* takes the place of an exercise, to see what breaks:
        ``lab.story(softmax_stable=lambda scores, dim: scores)``. Nothing is checked or recorded.
        """
        stage = handout(self._folder).stages[0]
        own = find_stages(self._folder) or handout(self._folder)
        try:
            with without_traceback(), time_limit(min(STORY_SECONDS, CELL_SECONDS)):
                return CompanionText(show_here(own, own.stage(stage.name), prompt, changed))
        except NotReadyError as error:
            _give_up(f"The text waits for your file. {error}")
        except CellTimeError:
            names = _names(tuple(changed))
            _give_up(f"The text was stopped. Does a loop in {names} never end?")
        return None

    def model_answer(self, answer: str) -> MarkdownText:
        """Return the model answer for the cell *answer* once the learner has answered and saved.

        Only the course contains model answers. Students who received their stages from an
        instructor get a note instead.
        """
        scheme = self._mark_scheme(answer)
        if not scheme:
            return MarkdownText(NO_MODEL_ANSWER)
        if self._own_answer(answer) in UNWRITTEN:
            return MarkdownText(
                "Write your own answer first, save this notebook, and run this cell again. Then "
                "it shows a full answer."
            )
        return MarkdownText(f"**A full answer, and its points:**\n\n{scheme}")

    def _mark_scheme(self, answer: str) -> str:
        """Return the mark scheme of the cell *answer* in the course's lab; empty without one."""
        if os.environ.get(EXECUTION):
            return ""
        try:
            solved = solved_stage(find_target("", self._folder).stage)
            cells = saved_cells(solved.lab) if solved else []
        except AutograderError:
            return ""
        before = (one["source"] for one, cell in pairwise(cells) if cell_name(cell) == answer)
        _, _, scheme = next(before, "").partition(SCHEME[0])
        return scheme.partition(SCHEME[1])[0].strip()

    def _own_answer(self, answer: str) -> str:
        """Return the text of the cell *answer* in the saved notebook; empty if there is none."""
        for file in sorted(self._folder.glob("*.ipynb")):
            for cell in saved_cells(file):
                if cell_name(cell) == answer and (text := str(cell["source"]).strip()):
                    return text
        return ""

    def _check(self, exercise: str) -> ExerciseCheck:
        target = find_target("", self._folder)
        known = [item.name for item in target.stage.exercises]
        if exercise not in known:
            problem = f"no exercise {exercise!r} here" if exercise else "no name in the brackets"
            raise AutograderError(f"There is {problem}. Exercises: {', '.join(known)}.")
        saved = f"Checked {target.file.name}, saved {_ago(target.file.stat().st_mtime)}."
        result = self._check_in_worker(target, exercise)
        feedback = build_exercise_feedback(target.stage, result, exercise)
        if feedback is None:
            msg = f"The public suite of {target.stage.name} has no check of {exercise}."
            raise GraderError(msg)
        if feedback.first is None and target.stage.file.graded:
            saved = f"{saved} {grading_note(is_here=target.hidden_is_here)}"
        fault = self._remember(target, exercise, passes=feedback.first is None)
        return ExerciseCheck(feedback, f"{saved} {fault}".rstrip())

    def _remember(self, target: CheckTarget, exercise: str, *, passes: bool) -> str:
        """Note the outcome in the learner's progress; return a sentence if that fails."""
        if os.environ.get(EXECUTION):
            return ""
        digest = digest_of(target.stage)
        if digest != self._checked_module:
            self._checked_module, self._outcomes = digest, {}
        self._outcomes[exercise] = passes
        return remember(target.file, target.stage, self._outcomes)

    def _check_in_worker(self, target: CheckTarget, exercise: str) -> SubmissionResult:
        course = target.public
        submission = next(collect(target.file, course.stages, target.stage))
        if submission.code is None:
            raise AutograderError(submission.problem)
        if self._server is None:
            self._server = own_workers(course.limits)
            self._server.wait_ready()
        try:
            return check_with_suite(
                course, submission, self._server, public=True, exercise=exercise
            )
        except GraderError:
            self._server.close()  # a fork server that failed can't be used again
            self._server = None
            raise


def _is_unwritten(error: BaseException, file: Path | None) -> bool:
    """Whether a ``raise NotImplementedError`` in *file* or in the cell itself ended the cell."""
    from autograder.sandbox.statements import is_raised_in  # noqa: PLC0415  # imports torch

    trace = error.__traceback__  # its first frame is `needs`, the second the cell
    cell = trace.tb_next.tb_frame.f_code.co_filename if trace and trace.tb_next else ""
    return isinstance(error, NotImplementedError) and is_raised_in({cell, str(file)}, error)


def _give_up(reason: str) -> None:
    """Print why a cell stops, and close its figures: Jupyter would show them half drawn."""
    print(reason)  # noqa: T201  # a notebook shows printed text
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


def _ago(moment: float) -> str:
    seconds = max(0, round(time.time() - moment))
    units = ((86400, "days"), (3600, "h"), (60, "min"))
    size, unit = next((one for one in units if seconds >= 2 * one[0]), (1, "s"))
    return f"{seconds // size} {unit} ago"


def _names(exercises: tuple[str, ...]) -> str:
    *first, last = [f"`{name}`" for name in exercises] or ["your module"]
    return f"{', '.join(first)} and {last}" if first else last
