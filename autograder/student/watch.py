"""Runs `autograder watch`, which checks a learner's exercise each time its file is saved.

torch, the suite of the stage and the fork server stay loaded, so an answer takes a tenth of a
second. The other exercises of the file are checked after the answer is on the screen.
"""

import contextlib
import os
import threading
from pathlib import Path
from typing import Final

from autograder.course import Handout, Stage
from autograder.student.progress import Progress, Task
from autograder.student.warm_checker import WarmChecker
from autograder.student.watch_screen import press, screen
from autograder.student.watch_state import Watch
from autograder.student.watch_terminal import Terminal

POLL_SECONDS: Final = 0.5  # some containers deliver no events of the file system
POLL_WITHOUT_EVENTS: Final = 0.1  # without watchfiles; polling a few files takes microseconds
STEP_MILLISECONDS: Final = 5  # an editor that truncates a file has written it by then
DEBOUNCE_MILLISECONDS: Final = 100  # the longest wait for a burst of events to end
Signature = tuple[int, int, int] | None


class FileWatch:
    """Detects saved modules; writes a byte to the descriptor *wake* when files may have changed."""

    def __init__(self, stages: tuple[Stage, ...], wake: int) -> None:
        self._stages = stages
        self._wake = wake
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._wait_for_events, daemon=True)
        self._seen = self._signatures()
        self.poll_seconds = POLL_SECONDS
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join(1.0)  # the thread checks the event twice a second

    def saved(self) -> list[Stage]:
        """List the stages whose modules have changed since the last call."""
        before, self._seen = self._seen, self._signatures()
        return [one for one in self._stages if before[one.name] != self._seen[one.name]]

    def _wait_for_events(self) -> None:
        """Wake the main loop after each burst of events; ``saved`` finds the changed files."""
        try:
            from watchfiles import watch  # noqa: PLC0415  # it is not installed on every machine

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

    def _signatures(self) -> dict[str, list[Signature]]:
        suffixes = (".py", ".ipynb")
        return {
            stage.name: [_signature_of(stage.stub.with_suffix(one)) for one in suffixes]
            for stage in self._stages
        }


def _signature_of(file: Path) -> Signature:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def watch(own: Handout, task: Task | None = None, notice: str = "", *, plain: bool = False) -> str:
    """Run `watch` on *task* first until the learner quits; return the line to print at the end.

    The first screen shows *notice*.
    """
    with Terminal(plain=plain) as terminal, contextlib.ExitStack() as closing:
        checker = WarmChecker(own)
        closing.callback(checker.close)
        files = FileWatch(own.stages, terminal.waker)
        closing.callback(files.close)
        state = Watch(own, checker, task)
        state.is_plain = terminal.is_plain
        closing.callback(state.leave)
        with contextlib.suppress(KeyboardInterrupt):
            state.begin()
            state.notice = " ".join(filter(None, (notice, state.notice)))
            _loop(state, terminal, files)
    return f"Your progress is in {Progress.read(own.root).file}. Continue with `autograder watch`."


def _loop(state: Watch, terminal: Terminal, files: FileWatch) -> None:
    def show() -> None:
        terminal.show(lambda width, rows: screen(state, width, rows))

    show()
    while True:
        state.prepare()
        key = terminal.wait(0 if state.waiting else files.poll_seconds)
        stages = files.saved()
        if key is not None and key != "resize":
            press(state, key)
        if state.is_over:
            return
        if stages:
            terminal.replace_last_row("Checking …")  # the next screen replaces it
            state.saved(stages)
        if state.to_open is not None:
            state.notice, state.to_open = terminal.open_editor(*state.to_open), None
        if state.has_new_files:
            files.saved()  # the screen has the answer already
            state.has_new_files = False
        if stages or key is not None or (state.waiting and state.check_next()):
            show()
        if state.to_tell:  # after the screen of the stage, because it takes a second
            state.tell()
            show()
