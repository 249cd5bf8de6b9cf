"""Runs `autograder watch`, which checks a learner's exercise each time its file is saved.

torch, the suite of the stage and the fork server stay loaded, so an answer takes a tenth of a
second. The other exercises of the file are checked after the answer is on the screen.
"""

import contextlib

from autograder.course import Handout
from autograder.student.file_watch import FileWatch
from autograder.student.progress import Progress, Task
from autograder.student.warm_checker import WarmChecker
from autograder.student.watch_keys import press
from autograder.student.watch_screen import screen
from autograder.student.watch_state import Watch
from autograder.student.watch_terminal import Terminal


def watch(own: Handout, task: Task | None = None, *, plain: bool = False) -> str:
    """Run `watch` on *task* first, until the learner quits; return the line to print at the end.

    With *plain*, screens are lines below the earlier ones.
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
            _loop(state, terminal, files)
    return f"Your progress is in {Progress.read(own.root).file}. Continue with `autograder watch`."


def _loop(state: Watch, terminal: Terminal, files: FileWatch) -> None:
    def show() -> None:
        terminal.show(lambda width, rows: screen(state, width, rows))

    state.begin()
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
