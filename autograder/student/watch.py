"""`autograder watch`: checks the exercise that a learner works on, each time its file is saved.

torch, the suite of the stage and the fork server stay loaded, so an answer takes a tenth of a
second.
"""

import contextlib
import os
import select
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from msgspec.structs import replace
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from autograder.course import Handout, Stage
from autograder.errors import AutograderError, GraderError, UsageError
from autograder.reports.feedback import ExerciseFeedback, counted
from autograder.reports.feedback_builder import build_exercise_feedback
from autograder.reports.terminal import exercise_parts, passed_parts, picture_parts, render
from autograder.sandbox.supervisor import ForkServer
from autograder.student.check import check_with_suite, course_with_hidden, student_file
from autograder.student.learner_folder import location
from autograder.student.progress import Progress, Task, first_open, tasks
from autograder.submission import collect

if TYPE_CHECKING:  # they import torch
    from autograder.grading.suite_runner import SuiteRunner
    from autograder.student.attention_weights import Weights

POLL_SECONDS: Final = 0.5  # where events of the file system do not arrive, as in some containers
POLL_WITHOUT_EVENTS: Final = 0.1  # without watchfiles; a look at a few files costs microseconds
STEP_MILLISECONDS: Final = 20  # an editor that truncates a file writes it within this time
DEBOUNCE_MILLISECONDS: Final = 100  # the longest wait for a burst of events to end
NARROWEST: Final = 20  # columns; below it words break anyway
BLOCKS: Final = 20  # of the progress bar
CLEAR: Final = "\x1b[H\x1b[2J"  # the screen, not what can be scrolled back to
KEYS: Final = "h hint · l list · n next · p previous · r run again · q quit"
HIDDEN_KEY: Final = "s hidden suite · "  # where the course is around the learner's folder
QUIT: Final = frozenset({"q", "\x03", "\x04", ""})  # Ctrl-C, Ctrl-D; empty: the terminal is gone

Signature = tuple[int, int, int] | None


class CheckAnswer(NamedTuple):
    """What a check said: *feedback* on the exercise, or else a *message* of ours."""

    feedback: ExerciseFeedback | None = None
    message: str = ""


class WarmChecker:
    """Checks exercises, with the fork server and the suite of one stage kept open."""

    def __init__(self, own: Handout) -> None:
        self._own = own
        # The learner waits: after one hang or crash, the other checks of the exercise can't help.
        self._limits = replace(own.limits, restarts_per_exercise=1)
        self._server: ForkServer | None = ForkServer.of_own_code(self._limits)
        self._opened = contextlib.ExitStack()
        self._runner: tuple[str, SuiteRunner] | None = None

    def close(self) -> None:
        """Close the suite and end the fork server."""
        self._opened.close()
        if self._server is not None:
            self._server.close()

    def picture(self, stage: Stage) -> "Weights | None":
        """Return the attention weights that the learner's module computes; None without any."""
        from autograder.student.attention_weights import attention_weights  # noqa: PLC0415  # imports torch

        with contextlib.suppress(AutograderError, OSError):  # the stage is done without it, too
            submission = next(collect(student_file(stage.source, stage), self._own.stages, stage))
            if submission.code is not None and self._server is not None:
                return attention_weights(self._server, stage, submission.code)
        return None

    def check_hidden(self, task: Task) -> CheckAnswer:
        """Run the hidden suite on the exercise, where the course around the folder has it."""
        course = course_with_hidden(task.stage)
        if course is None:
            return CheckAnswer(message="The hidden suite stays with your instructor; none is here.")
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
        """Check the exercise as it stands on disk; whatever goes wrong is in the answer."""
        try:
            return self._check(task)
        except GraderError as error:
            self._restart()
            return CheckAnswer(message=f"{error}. Press r to try again.")
        except AutograderError as error:
            self._close_suite()  # its files may be mended meanwhile
            return CheckAnswer(message=str(error))

    def _check(self, task: Task) -> CheckAnswer:
        from autograder.grading.grade import grade_one  # noqa: PLC0415  # imports torch

        stage = task.stage
        try:
            file = student_file(stage.source, stage)
        except UsageError:
            back = f"put it back, or run `autograder reset {task.key}` in another terminal"
            return CheckAnswer(message=f"{stage.stub.name} is not in {stage.name}/: {back}.")
        submission = next(collect(file, self._own.stages, stage))
        if submission.code is None:
            return CheckAnswer(message=submission.problem)
        runner = self._suite(stage)
        if self._server is None:
            self._server = ForkServer.of_own_code(self._limits)
        self._server.wait_ready()
        result = grade_one(runner, self._server, submission, exercise=task.exercise.name)
        if not result.exercises:
            raise GraderError(result.message or "the checks of this exercise are missing")
        feedback = build_exercise_feedback(stage, result, task.exercise.name)
        return CheckAnswer(feedback, "" if feedback else f"{task.key} has no public check.")

    def _suite(self, stage: Stage) -> "SuiteRunner":
        from autograder.grading.suite_runner import open_suites  # noqa: PLC0415  # imports torch

        if self._runner is None or self._runner[0] != stage.name:
            self._close_suite()
            opened = self._opened.enter_context(open_suites(self._own, [stage], public=True))
            self._runner = stage.name, opened
        return self._runner[1]

    def _close_suite(self) -> None:
        """Close the suite, and forget its module: its file may be another one the next time."""
        self._runner = None
        self._opened.close()
        for name in [name for name in sys.modules if name.endswith("test_public")]:
            del sys.modules[name]

    def _restart(self) -> None:
        if self._server is not None:
            self._server.close()  # a fork server that failed can't be used again
        self._server = None


class FileWatch:
    """Finds out which stage's module was saved: by events, and by looking at the files."""

    def __init__(self, stages: tuple[Stage, ...], wake: int) -> None:
        self._stages = stages
        self._wake = wake
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._wait_for_events, daemon=True)
        self._seen = {stage.name: self._signature(stage) for stage in stages}
        self.poll_seconds = POLL_SECONDS
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join(1.0)  # it looks at the event twice a second

    def saved(self) -> Stage | None:
        """Return a stage whose module has changed since the last call."""
        found = None
        for stage in self._stages:
            now = self._signature(stage)
            if now != self._seen[stage.name]:
                self._seen[stage.name] = now
                found = stage
        return found

    def _wait_for_events(self) -> None:
        """Write a byte for each burst of events; what has changed, ``saved`` finds out."""
        try:
            from watchfiles import watch  # noqa: PLC0415  # not there on every machine

            events = watch(
                *(stage.source for stage in self._stages),
                stop_event=self._stop,
                step=STEP_MILLISECONDS,
                debounce=DEBOUNCE_MILLISECONDS,
                rust_timeout=500,
                raise_interrupt=False,
                recursive=False,
            )
            for _changes in events:
                os.write(self._wake, b"s")
        except Exception:  # noqa: BLE001  # no watchfiles, no events, no folder: polling is enough
            self.poll_seconds = POLL_WITHOUT_EVENTS

    @staticmethod
    def _signature(stage: Stage) -> tuple[Signature, ...]:
        files = (stage.stub, stage.stub.with_suffix(".ipynb"))
        return tuple(map(_signature_of, files))


def _signature_of(file: Path) -> Signature:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class Terminal:
    """The terminal while `watch` runs: keys arrive at once and unseen; restored at the end."""

    def __init__(self) -> None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            msg = (
                "`autograder watch` needs a terminal for its keys. "
                "Run it in one, or use `autograder check` here."
            )
            raise UsageError(msg)
        try:
            import termios  # noqa: PLC0415  # not there on Windows
            import tty  # noqa: PLC0415  # likewise
        except ImportError:
            msg = "`autograder watch` needs a terminal of Linux or macOS; on Windows use WSL."
            raise UsageError(msg) from None
        self._termios, self._tty = termios, tty
        self._input = sys.stdin.fileno()
        self._wake, self.waker = os.pipe()
        os.set_blocking(self.waker, False)
        os.set_blocking(self._wake, False)

    def __enter__(self) -> Self:
        self._before = self._termios.tcgetattr(self._input)
        self._handlers = {
            number: signal.signal(number, handler)
            for number, handler in (
                (signal.SIGWINCH, self._on_signal),
                (signal.SIGCONT, self._on_signal),
                (signal.SIGTERM, signal.default_int_handler),  # so that `__exit__` runs
                (signal.SIGHUP, signal.default_int_handler),
            )
        }
        self._tty.setcbreak(self._input)
        return self

    def __exit__(self, *_exception: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        with contextlib.suppress(self._termios.error, OSError):  # the terminal may be gone
            self._termios.tcsetattr(self._input, self._termios.TCSADRAIN, self._before)
        os.close(self._wake)
        os.close(self.waker)

    def wait(self, seconds: float) -> str | None:
        """Return the next key; ``resize``, or None for anything else that may have happened."""
        readable, _, _ = select.select([self._input, self._wake], [], [], seconds)
        if self._input in readable:
            return self._key()
        if self._wake in readable:
            return "resize" if b"w" in os.read(self._wake, 4096) else None
        return None

    def _key(self) -> str:
        """Read one key; empty if the terminal is gone. An arrow sends several characters."""
        try:
            key = os.read(self._input, 1).decode("ascii", "replace")
            if key == "\x1b" and select.select([self._input], [], [], 0)[0]:
                os.read(self._input, 16)
        except OSError:
            return ""
        return key

    def show(self, screen: Callable[[int], Iterator[RenderableType]]) -> None:
        """Clear the screen and print what *screen* yields for so many columns."""
        width = max(shutil.get_terminal_size().columns, NARROWEST)
        text = render(screen(width), width, colour="NO_COLOR" not in os.environ)
        self.write(f"{CLEAR}{text}")

    @staticmethod
    def write(text: str) -> None:
        """Print *text* at once."""
        with contextlib.suppress(OSError):  # the terminal is gone, as the next key shows
            sys.stdout.write(text)
            sys.stdout.flush()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGCONT:  # the shell has set the terminal to its own liking
            with contextlib.suppress(self._termios.error):
                self._tty.setcbreak(self._input)
        with contextlib.suppress(BlockingIOError):
            os.write(self.waker, b"w")


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


def heading(own: Handout, stage: Stage) -> Iterator[RenderableType]:
    """Show the title of the stage and its number."""
    number = own.file.stages.index(stage.name) + 1
    count = f"  {stage.name}, {number} of {counted(len(own.stages), 'stage')}"
    yield Text.assemble((stage.title, "bold"), (count, "dim"))
    yield ""


def exercise_location(task: Task, *, unwritten: bool) -> Iterator[RenderableType]:
    """Show in which file and line the exercise is."""
    file, line = location(task)
    at = f"{task.stage.name}/{file.name}" + (f", line {line}" if line else "")
    what = f"Write {task.exercise.name} and save" if unwritten else "Mend it and save"
    yield from ("", Text(f"{what}: {at}", style="bold" if unwritten else "dim"))
    if unwritten and task.stage.lab.is_file():
        yield Text(f"The lab leads through it: {task.stage.name}/{task.stage.lab.name}", "dim")


def exercise_list(own: Handout, progress: Progress, current: Task) -> Iterator[RenderableType]:
    """Show all exercises, which have passed, and which is the current one."""
    for stage in own.stages:
        done = "✓" if progress.is_done(stage) else " "
        yield Text(f"{done} {stage.name}", style="bold")
        names = []
        for exercise in stage.exercises:
            task = Task(stage, exercise)
            mark = "✓" if task.key in progress.passed else "·"
            here = "  ← here" if task.key == current.key else ""
            names.append(Text(f"{mark} {exercise.name}{here}", "green" if mark == "✓" else ""))
        yield from (Padding(name, (0, 0, 0, 4)) for name in names)


def finished_stage(stage: Stage, last: ExerciseFeedback | None) -> Iterator[RenderableType]:
    """Show that the stage is done, and the feedback on its last exercise."""
    if last is not None:
        yield from (*passed_parts(last), "")
    yield Text(f"This stage is done: {stage.title}. Well done!", style="bold green")


def stage_picture(stage: Stage, weights: "Weights", width: int) -> Iterator[RenderableType]:
    """Show what the learner's code has just computed, and what it means."""
    picture = stage.file.picture
    if picture is not None:
        title = "What your code computes:"
        yield ""
        yield from picture_parts(title, picture.tokens, picture.columns, weights, width)
        yield from ("", Text(picture.meaning))
        yield Text(f"A bug hunt in this stage: autograder hunt {stage.name}", style="dim")


def hidden_answer(answer: CheckAnswer, task: Task, width: int) -> Iterator[RenderableType]:
    """Show what the hidden suite says about the exercise."""
    if answer.feedback is None:
        yield Text(answer.message)
        return
    yield Text(f"The hidden suite on {task.exercise.name}:", style="bold")
    yield from exercise_parts(answer.feedback, width)


def following_stage(own: Handout, progress: Progress, stage: Stage) -> Iterator[RenderableType]:
    """Show which stage comes next."""
    following = first_open(own, progress, Task(stage, stage.exercises[-1]))
    yield ""
    if following is None:
        yield Text("This was the last open exercise. Congratulations on the whole course!")
    else:
        comes = following.stage
        yield Text.assemble(("Next: ", "bold"), f"{comes.title}. {comes.file.goal}")
        yield Text("Press n to go on.", style="dim")


def progress_bar(own: Handout, progress: Progress) -> Text:
    """Return a bar that shows how many exercises have passed."""
    every = tasks(own)
    done = sum(task.key in progress.passed for task in every)
    full = round(BLOCKS * done / len(every))
    count = f"  {done} of {counted(len(every), 'exercise')}"
    return Text.assemble(("█" * full, "green"), ("░" * (BLOCKS - full), "dim"), count)
