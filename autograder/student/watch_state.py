"""Holds the state of `watch`: the learner's current exercise, its answer, and the screen.

The other exercises of a saved file wait until the answer to the first is on the screen.
"""

from collections import deque
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from autograder.course import Handout, Stage
from autograder.errors import AutograderError, UsageError
from autograder.reports.feedback import line_in
from autograder.student import companion_show, copies
from autograder.student.check import course_with_hidden, used_names
from autograder.student.exercise_list import ExerciseList
from autograder.student.learner_folder import (
    gone,
    location,
    reset_exercise,
    solution,
    solved_stage,
    source_text,
)
from autograder.student.progress import Progress, Task, digest_of, first_open, tasks, tasks_of
from autograder.student.warm_checker import CheckAnswer, WarmChecker

if TYPE_CHECKING:  # annotations alone need them, and some import torch
    from autograder.companion import CompanionAnswer
    from autograder.reports.feedback import ExerciseFeedback
    from autograder.student.stage_picture import PictureRows

RESTORED: Final = (
    "progress.json was missing or damaged. A new file contains the results of this run of `watch`."
)


class Watch:
    """The state of the screen: the current exercise, its answer, and the learner's progress."""

    def __init__(self, own: Handout, checker: WarmChecker, task: Task | None = None) -> None:
        self.own = own
        self.checker = checker
        self.progress = Progress.read(own.root)
        self.task = task or first_open(own, self.progress) or tasks(own)[-1]
        self.answer = CheckAnswer()
        self.just_passed: ExerciseFeedback | None = None
        self.finished: Stage | None = None
        self.picture: PictureRows | None = None  # of the finished stage
        self.hidden: CheckAnswer | None = None  # the answer of the hidden suite, until the next key
        self.broken: list[Task] = []  # exercises that passed before and fail now
        self.waiting: deque[Task] = deque()  # to be checked after the answer is shown
        self.paged = ""  # the key of a text that may have several pages
        self.page = 0
        self.listing: ExerciseList | None = None
        self.reset_is_asked = False  # the notice asks whether to reset the exercise
        self.model_answer = ""
        self.notice = ""  # until the next key or answer
        self.to_open: tuple[Path, int] | None = None  # a file and its line, for the editor
        self.has_new_files = False  # a key has written a module, and its answer is shown already
        self.is_over = False
        self.is_plain = False  # screens are appended, so each has only what is new
        self.companion: CompanionAnswer | None = None  # what it shows with the learner's code
        self.to_tell = ""  # the stage with which the companion is asked next
        self.has_companion = companion_show.is_here(own)
        self.has_hidden = course_with_hidden(self.task.stage) is not None

    @cached_property
    def has_solutions(self) -> bool:
        """Whether the course around the folder or an installed wheel has the solutions."""
        return solved_stage(self.task.stage) is not None

    def begin(self) -> None:
        """Check the first open exercise, and later each file that has changed since its check."""
        self._fill_copies()
        self.check(stop_after_stage=False)  # so that a lost progress file is restored
        changed = [one for one in self.own.stages if self.progress.is_outdated(one)]
        self._wait_for([self.task.stage, *changed])

    def check(self, *, stop_after_stage: bool = True) -> None:
        """Check the current exercise; when it first passes, go on to the next open one."""
        self.finished = None
        while True:
            self.answer = self.checker.check(self.task)
            passes_now = self._record(self.task, self.answer)
            feedback = self.answer.feedback
            if feedback is None or feedback.first or not passes_now:
                self.notice = self.notice or copies.request(self.own, self.progress, self.task)
                return
            self.just_passed = feedback
            following = self._open_in_stage() or self._following()
            stage = self.task.stage
            if following is None or (stop_after_stage and self.progress.is_done(stage)):
                self.finished = stage
                self.picture = self.checker.picture(stage)
                self.to_tell, self.companion = stage.name, None
                if self.is_plain:  # no screen comes between
                    self.tell()
                return
            self.task = following
            self._fill_copies()

    def check_next(self) -> bool:
        """Check the next waiting exercise; return whether the screen must be drawn again."""
        task = self.waiting.popleft()
        digest = digest_of(task.stage)  # read first, because the learner may save during the check
        answer = self.checker.check(task)
        passed_before = task.key in self.progress.passed
        self._record(task, answer)
        if not any(task.stage.name == other.stage.name for other in self.waiting):
            self._is_checked(task.stage, digest)
        if passed_before == (task.key in self.progress.passed):
            return not self.waiting  # the screen shows whether exercises wait
        is_near = task.stage.name == self.task.stage.name
        if passed_before and is_near and not self._has_work:  # nothing else needs attention
            self.task, self.answer, self.finished = task, answer, None
        return True

    @property
    def _has_work(self) -> bool:
        """Whether the screen shows an exercise that the learner has begun and that fails."""
        feedback = self.answer.feedback
        return feedback is None or (feedback.first is not None and not feedback.unwritten)

    def prepare(self) -> None:
        """Prepare the next check, while the learner reads or types."""
        self.checker.prepare(self.waiting[0] if self.waiting else self.task)

    def clear(self) -> None:
        """Return from a page, the list or a question to the exercise."""
        self.paged = self.notice = ""
        self.page = 0
        self.listing = self.hidden = None
        self.reset_is_asked = False

    def read(self, page: str) -> None:
        """Show the text *page*, which may have several pages."""
        self.paged = page

    def open_list(self) -> None:
        """Show the list of exercises, with the current one selected."""
        self.listing = ExerciseList(self.own, self.progress, self.task)

    def open_file(self) -> None:
        """Ask for the editor, at the line that the learner is to change."""
        self.to_open = self.place()

    def quit(self) -> None:
        """End `watch`."""
        self.is_over = True

    def leave(self) -> None:
        """Note the current exercise, so that the next `watch` continues there."""
        if gone(self.own):
            return
        self._read_progress()
        following = first_open(self.own, self.progress)
        if following is not None and following.key != self.task.key:
            self.progress.at = self.task.key
            self.progress.save()

    def hint(self) -> None:
        """Show one more hint."""
        if gone(self.own):
            return
        self._read_progress()
        count = len(self.progress.hints_of(self.task))
        if len(self.progress.shown_hints(self.task)) >= count:
            self.notice = f"All {count} hints are shown."
            return
        self.progress.next_hint(self.task)
        self.notice = self.progress.fault

    def check_again(self) -> None:
        """Check the exercise and the others of its stage."""
        self.just_passed = None
        self.check()
        self._wait_for([self.task.stage])

    def tell(self) -> None:
        """Ask the companion, with the stage that was just finished or with all that passes."""
        stage, self.to_tell = self.to_tell, ""
        try:
            self.companion = self.checker.companion(self.progress.passed, stage)
        except AutograderError as error:
            self.companion, self.notice = None, str(error)

    def ask_companion(self) -> None:
        """Show what the companion writes with all exercises that pass."""
        self._read_progress()
        self.tell()
        if self.companion is not None:
            self.read("w")

    def run_hidden(self) -> None:
        """Run the hidden suite on the exercise."""
        self.hidden = self.checker.check_hidden(self.task)

    def read_model_answer(self) -> None:
        """Show the solution of an exercise that passes."""
        if self.task.key not in self.progress.passed:
            self.notice = "The model answer is shown once your code passes."
            return
        try:
            self.model_answer = solution(self.task)
        except UsageError as error:
            self.notice = str(error)
            return
        self.read("v")

    def fill_copy(self) -> None:
        """Fill the exercise with the learner's code of an earlier stage, or with the course's."""
        if gone(self.own):
            return
        self._read_progress()
        self._fill_copies()
        borrowed = copies.borrow(self.own, self.progress, self.task)
        filled = self.notice if borrowed is None else str(borrowed)
        if not filled:
            is_open = copies.is_open(self.own, self.task)
            self.notice = (
                copies.request(self.own, self.progress, self.task)
                if is_open
                else f"{self.task.exercise.name} is written already. x resets it."
            )
            return
        self.has_new_files = True
        self.check_again()
        self.notice = self.progress.fault or filled

    def ask_reset(self) -> None:
        """Ask whether to reset the exercise."""
        self.reset_is_asked = True
        self.notice = (
            f"Reset {self.task.exercise.name} to the version that you received? A copy of your "
            "file is kept. Press y for yes; any other key means no."
        )

    def answer_reset(self, *, yes: bool) -> None:
        """Reset the exercise, if the learner wants it."""
        self.clear()
        if not yes:
            return
        self._read_progress()
        try:
            copy = reset_exercise(self.own, self.progress, self.task)
        except (UsageError, OSError) as error:
            self.notice = f"Nothing was reset: {error}"
            return
        self.has_new_files = True
        self.check_again()
        kept = f" A copy of your file: {copy.relative_to(self.own.root)}" if copy else ""
        self.notice = f"{self.task.exercise.name} is as you received it.{kept}"

    def next(self) -> None:
        """Go to one that passed before and fails now, after a pass to an open one, or on."""
        passes = self.task.key in self.progress.passed
        broken = [task for task in self.broken if task.key != self.task.key]
        following = self._following() if passes or broken else None
        self.go(following or self._neighbour(1))

    def previous(self) -> None:
        """Go to the previous exercise."""
        self.go(self._neighbour(-1))

    def _neighbour(self, step: int) -> Task:
        every = tasks(self.own)
        index = [task.key for task in every].index(self.task.key)
        return every[(index + step) % len(every)]

    def saved(self, stages: Sequence[Stage]) -> None:
        """Check the current exercise, or the first open one if only other *stages* were saved."""
        self.just_passed = None
        self.clear()
        names = [stage.name for stage in stages]
        if self.task.stage.name not in names and not gone(self.own):
            mine = tasks_of(stages[0])
            still_open = [task for task in mine if task.key not in self.progress.passed]
            self.task = (still_open or mine)[0]
        self.check()
        self._wait_for(stages)

    def go(self, task: Task) -> None:
        """Go to *task* and check it."""
        self.just_passed = None
        self.task = task
        self._fill_copies()
        self.check()

    def place(self) -> tuple[Path, int]:
        """Return the file of the exercise, and the line of its problem or of its beginning."""
        file, begin = location(self.task)
        feedback = self.answer.feedback
        problem = feedback.line if feedback is not None else line_in(self.answer.message)
        return file, problem or begin

    def not_right(self) -> tuple[str, ...]:
        """Return the exercises that are not right, and that the current one uses."""
        waiting = {task.key for task in self.waiting}
        passed = self.progress.passed
        mine = tasks_of(self.task.stage)
        names = {one.exercise.name for one in mine if one.key not in passed | waiting}
        needs = self.answer.feedback.needs if self.answer.feedback is not None else ()
        return used_names(source_text(self.task.stage.stub), self.task.exercise.name, names, needs)

    def _fill_copies(self) -> None:
        if not gone(self.own) and (found := copies.fill(self.own, self.progress, self.task.stage)):
            self.has_new_files = True
            self.notice = " ".join(map(str, found))

    def _open_in_stage(self) -> Task | None:
        """Return the next open exercise of the current stage, first one that passed before."""
        mine = tasks_of(self.task.stage)
        left = [task for task in mine if task.key not in self.progress.passed]
        broken = [one.key for one in self.broken]
        here = [task.key for task in mine].index(self.task.key)
        left.sort(key=lambda task: (task.key not in broken, mine.index(task) < here))
        return left[0] if left else None

    def _following(self) -> Task | None:
        """Return the next exercise after this one; None if everything passes."""
        broken = [task for task in self.broken if task.key != self.task.key]
        broken.sort(key=lambda task: task.stage.name != self.task.stage.name)
        return broken[0] if broken else first_open(self.own, self.progress, self.task)

    def _wait_for(self, stages: Sequence[Stage]) -> None:
        """Schedule the exercises of *stages* for a check, those that pass first."""
        names = {stage.name for stage in stages}
        others = [one for one in self.waiting if one.stage.name not in names]
        self.waiting.clear()
        if gone(self.own):
            return
        if self.answer.is_whole_file:  # the other exercises have the same answer
            names.discard(self.task.stage.name)
        found = [one for one in tasks(self.own) if one.stage.name in names]
        found = [one for one in found if one.key != self.task.key]
        found.sort(key=lambda one: one.key not in self.progress.passed)
        self.waiting.extend([*found, *others])
        waited = {one.stage.name for one in found}
        for stage in stages:
            if stage.name in names - waited:
                self._is_checked(stage, digest_of(stage))

    def _record(self, task: Task, answer: CheckAnswer) -> bool:
        """Record whether *task* passes; return whether it passes now and did not before."""
        self._read_progress()
        if gone(self.own) or (answer.feedback is None and not answer.is_whole_file):
            return False
        first = answer.feedback.first if answer.feedback is not None else None
        passes = answer.feedback is not None and first is None
        if self.progress.set_failing(task, first.name if first else ""):
            self._save()
        is_news = self.progress.set_passed(task, passes=passes)
        others = [one for one in self.broken if one.key != task.key]
        was_broken = len(others) < len(self.broken)
        self.broken = [*others, task] if not passes and (is_news or was_broken) else others
        if not is_news:
            return False
        self._save()
        return passes

    def _is_checked(self, stage: Stage, digest: str) -> None:
        if not gone(self.own) and self.progress.set_checked(stage, digest):
            self._save()

    def _save(self, notice: str = "") -> None:
        self.progress.save()
        self.notice = self.progress.fault or notice or self.notice

    def _read_progress(self) -> None:
        """Read what another command has written; write a lost or damaged file again."""
        if gone(self.own) or self.progress.fault:
            return
        found = Progress.read(self.own.root)
        if self.progress.is_on_disk and not found.is_on_disk:
            self._save(RESTORED)
        else:
            self.progress = found
