"""Reads keys and shows screens while `watch` runs."""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Self

from rich.console import RenderableType

from autograder.errors import UsageError
from autograder.reports.terminal import render
from autograder.student import editor, keyboard

NARROWEST: Final = 20  # columns; in fewer, words break anyway
LOWEST: Final = 3  # rows
START_OF_ROW: Final = "\r\x1b[K"
UNLIMITED: Final = 10**6  # rows of a terminal whose screens are appended
CLEAR: Final = "\x1b[H\x1b[2J"  # keeps the lines above the screen


class Terminal:
    """The terminal while `watch` runs: it delivers single keys without echo until the end.

    A *plain* terminal gets lines below the earlier ones, without colours and movements of the
    cursor, for screen readers. One that can't move its cursor is always plain.
    """

    def __init__(self, *, plain: bool = False) -> None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            msg = (
                "`autograder watch` needs a terminal for its keys. "
                "Run it in one, or use `autograder check` here."
            )
            raise UsageError(msg)
        self.is_plain = plain or os.environ.get("TERM") == "dumb"
        self._last = ""
        self._keys = keyboard.keys()
        self.waker = self._keys.waker

    def __enter__(self) -> Self:
        self._keys.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self.write("\n")  # a screen ends without it, and the next words begin a new row
        self._keys.__exit__(*exception)

    def wait(self, seconds: float) -> str | None:
        """Return the next key, or ``resize`` for a new size; None after a wake or a time-out."""
        return self._keys.wait(seconds)

    def show(self, screen: Callable[[int, int], Iterable[RenderableType]]) -> None:
        """Clear the terminal and print what *screen* returns for its columns and rows."""
        size = shutil.get_terminal_size()
        width, rows = max(size.columns, NARROWEST), max(size.lines, LOWEST)
        if self.is_plain:
            self._append(render(screen(width, UNLIMITED), width, colour=False))
            return
        text = render(screen(width, rows), width, colour="NO_COLOR" not in os.environ)
        self.write(f"{CLEAR}{text.rstrip()}")  # a line break in the last row would scroll

    def _append(self, text: str) -> None:
        """Print *text* unless it is on the last screen already."""
        if text != self._last:
            self.write(f"\n{text}")
        self._last = text

    def replace_last_row(self, text: str) -> None:
        """Replace the last row of the screen with *text*."""
        self.write(f"{text}\n" if self.is_plain else f"{START_OF_ROW}{text}")
        self._last = ""

    def open_editor(self, file: Path, line: int) -> str:
        """Open *file* at *line*; return a notice for the learner, empty if the editor started."""
        command = editor.command(os.environ, str(file), line)
        if command is None:
            return editor.MISSING
        shares = editor.needs_terminal(command[0])
        try:
            with self._keys.lent() if shares else contextlib.nullcontext():
                if shares and not self.is_plain:
                    self.write(CLEAR)
                editor.run(command, waits=shares)
        except OSError as error:
            return f"{command[0]} can't be started ({error.strerror}): set $EDITOR."
        return ""

    @staticmethod
    def write(text: str) -> None:
        """Print *text* at once."""
        with contextlib.suppress(OSError):  # the terminal is gone; the next wait reports it
            sys.stdout.write(text)
            sys.stdout.flush()
