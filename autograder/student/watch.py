"""`autograder watch`: checks the exercise that a learner works on, each time its file is saved.

torch, the suite of the stage and the fork server stay loaded, so an answer takes a tenth of a
second.
"""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rich.console import RenderableType
from rich.text import Text

from autograder.course import Handout, Stage
from autograder.reports.terminal import exercise_parts, passed_parts
from autograder.student.check import course_with_hidden
from autograder.student.file_watch import FileWatch
from autograder.student.progress import Progress, Task, first_open, tasks
from autograder.student.warm_checker import CheckAnswer, WarmChecker
from autograder.student.watch_screen import (
    exercise_list,
    exercise_location,
    finished_stage,
    following_stage,
    heading,
    hidden_answer,
    progress_bar,
    stage_picture,
)
from autograder.student.watch_terminal import Terminal

if TYPE_CHECKING:  # annotations alone need them, and the second imports torch
    from autograder.reports.feedback import ExerciseFeedback
    from autograder.student.attention_weights import Weights

KEYS: Final = "h hint · l list · n next · p previous · r run again · q quit"
HIDDEN_KEY: Final = "s hidden suite · "  # where the course is around the learner's folder
QUIT: Final = frozenset({"q", "\x03", "\x04", ""})  # Ctrl-C, Ctrl-D; empty: the terminal is gone


class Watch:
    """The state of the screen: one exercise, its answer, the hints that were asked for."""

    def __init__(self, own: Handout, checker: WarmChecker) -> None:
        self.own = own
        self.checker = checker
        self.progress = Progress.read(own.root)
        self.task = first_open(own, self.progress) or tasks(own)[-1]
        self.answer = CheckAnswer()
        self.just_passed: ExerciseFeedback | None = None
        self.finished: Stage | None = None
        self.weights: Weights | None = None  # of the finished stage
        self.hidden: CheckAnswer | None = None  # what the hidden suite said, until the next key
        self.listing = False
        hidden_key = HIDDEN_KEY if course_with_hidden(self.task.stage) else ""
        self._keys = f"{hidden_key}{KEYS}"

    def check(self, *, stop_after_stage: bool = True) -> None:
        """Check the exercise; where it passes for the first time, go on to the next open one."""
        self.finished = None
        while True:
            self.answer = self.checker.check(self.task)
            self.progress = Progress.read(self.own.root)  # another command may have written it
            feedback = self.answer.feedback
            if feedback is None or feedback.first or self.task.key in self.progress.passed:
                return
            self.progress.passed.add(self.task.key)
            self.progress.save()
            self.just_passed = feedback
            following = first_open(self.own, self.progress, self.task)
            stage = self.task.stage
            if following is None or (stop_after_stage and self.progress.is_done(stage)):
                self.finished = stage
                self.weights = self.checker.picture(stage)
                return
            self.task = following

    def press(self, key: str) -> None:
        """Do what *key* asks for."""
        self.listing = key == "l" and not self.listing
        self.hidden = self.checker.check_hidden(self.task) if key == "s" else None
        if key == "h":
            self.progress = Progress.read(self.own.root)
            self.progress.next_hint(self.task)
        elif key in {"n", "p"}:
            self.move(1 if key == "n" else -1)
        elif key == "r":
            self.just_passed = None
            self.check()

    def move(self, step: int) -> None:
        """Go to the next exercise or the previous one; from a finished stage to the next open."""
        every = tasks(self.own)
        index = [task.key for task in every].index(self.task.key)
        beyond = first_open(self.own, self.progress, self.task) if self.finished else None
        self.go(beyond if step > 0 and beyond else every[(index + step) % len(every)])

    def saved(self, stage: Stage) -> None:
        """Check the exercise again, or the first open one of another *stage* that was saved."""
        self.just_passed = self.hidden = None
        if stage.name != self.task.stage.name:
            mine = [Task(stage, exercise) for exercise in stage.exercises]
            still_open = [task for task in mine if task.key not in self.progress.passed]
            self.task = (still_open or mine)[0]
        self.check()

    def go(self, task: Task) -> None:
        """Go to *task* and check it."""
        self.just_passed = None
        self.task = task
        self.check()

    def screen(self, width: int) -> Iterator[RenderableType]:
        """Yield what a terminal of *width* columns shows."""
        yield from heading(self.own, self.task.stage)
        if self.listing:
            yield from exercise_list(self.own, self.progress, self.task)
        elif self.hidden is not None:
            yield from hidden_answer(self.hidden, self.task, width)
        elif self.finished is not None:
            yield from finished_stage(self.finished, self.just_passed)
            if self.weights is not None:
                yield from stage_picture(self.finished, self.weights, width)
            yield from following_stage(self.own, self.progress, self.finished)
        else:
            if self.just_passed is not None:
                yield from (*passed_parts(self.just_passed), "")
            yield from self._exercise(width)
        yield from ("", progress_bar(self.own, self.progress), Text(self._keys, style="dim"))

    def _exercise(self, width: int) -> Iterator[RenderableType]:
        feedback = self.answer.feedback
        if feedback is None:
            yield Text(f"✗ {self.task.exercise.name}", style="bold red")
            yield Text(self.answer.message)
        else:
            yield from exercise_parts(feedback, width)
        if feedback is None or feedback.first is not None:
            yield from exercise_location(self.task, unwritten=bool(feedback and feedback.unwritten))
        shown = self.progress.hints.get(self.task.key, 0)
        for number, hint in enumerate(self.task.exercise.hints[:shown], start=1):
            yield from ("", Text(f"Hint {number} of 3", style="bold cyan"), Text(hint))


def watch(own: Handout) -> str:
    """Run until the learner quits; return the words to leave with."""
    with Terminal() as terminal, contextlib.ExitStack() as closing:
        checker = WarmChecker(own)
        closing.callback(checker.close)
        terminal.write("Loading torch and your exercises …\n")
        files = FileWatch(own.stages, terminal.waker)
        closing.callback(files.close)
        with contextlib.suppress(KeyboardInterrupt):
            _loop(Watch(own, checker), terminal, files)
    return f"Your progress is in {Progress.read(own.root).file}. Go on with `autograder watch`."


def _loop(state: Watch, terminal: Terminal, files: FileWatch) -> None:
    state.check(stop_after_stage=False)  # a lost progress file is made again
    terminal.show(state.screen)
    while True:
        key = terminal.wait(files.poll_seconds)
        stage = files.saved()
        if key is not None and key in QUIT:
            return
        if stage is not None:
            terminal.write("Checking …")  # the next screen replaces it
            state.saved(stage)
        if key is not None and key != "resize":
            state.press(key)
        if stage is not None or key is not None:
            terminal.show(state.screen)
