"""Reads keys and shows screens while `watch` runs."""

import contextlib
import os
import select
import shutil
import signal
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Final, Self

from rich.console import RenderableType

from autograder.errors import UsageError
from autograder.reports.terminal import render
from autograder.student import editor

NARROWEST: Final = 20  # columns; below it words break anyway
LOWEST: Final = 3  # rows
START_OF_ROW: Final = "\r\x1b[K"
CLEAR: Final = "\x1b[H\x1b[2J"  # the screen, not what can be scrolled back to


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
            import termios  # noqa: PLC0415  # not on Windows
            import tty  # noqa: PLC0415  # not on Windows
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

    def show(self, screen: Callable[[int, int], Iterable[RenderableType]]) -> None:
        """Clear the screen and print what *screen* returns for so many columns and rows."""
        size = shutil.get_terminal_size()
        width, rows = max(size.columns, NARROWEST), max(size.lines, LOWEST)
        text = render(screen(width, rows), width, colour="NO_COLOR" not in os.environ)
        self.write(f"{CLEAR}{text.rstrip()}")  # a line break in the last row would scroll

    def replace_last_row(self, text: str) -> None:
        """Print *text* over the row in which the screen ends."""
        self.write(f"{START_OF_ROW}{text}")

    def open_editor(self, file: str, line: int) -> str:
        """Open *file* at *line*; return what to tell the learner, empty if there is nothing."""
        command = editor.command(os.environ, file, line)
        if command is None:
            return editor.MISSING
        shares = editor.needs_terminal(command[0])
        try:
            if shares:
                self._termios.tcsetattr(self._input, self._termios.TCSADRAIN, self._before)
                self.write(CLEAR)
            editor.run(command, waits=shares)
        except OSError as error:
            return f"{command[0]} can't be started ({error.strerror}): set $EDITOR."
        finally:
            if shares:
                self._tty.setcbreak(self._input)
        return ""

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
