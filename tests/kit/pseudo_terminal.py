"""Runs `autograder watch` in a pseudo-terminal, as a learner uses it."""

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

from autograder.disk import replace_file
from autograder.student.watch_screen import CHECKING

PATIENCE = 120.0  # seconds, for a machine on which other tests run
CLEAR = "\x1b[H\x1b[2J"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\")  # and OSC 8, a link


def _without_size() -> dict[str, str]:
    """Return the environment without a size, which would hide that of the terminal."""
    return {key: word for key, word in os.environ.items() if key not in {"COLUMNS", "LINES"}}


class PseudoTerminal:
    """`autograder watch` in a separate terminal: types keys, and reads what is shown."""

    def __init__(
        self,
        folder: Path,
        environment: dict[str, str] | None = None,
        size: tuple[int, int] = (40, 100),
    ) -> None:
        self.master, self.slave = pty.openpty()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a read may end anywhere
        self._raw = ""
        self.resize(*size)
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(  # this Python
            [sys.executable, "-m", "autograder", "watch"],
            cwd=folder,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            env={**_without_size(), "TERM": "xterm", **(environment or {})},
        )

    @property
    def shown(self) -> str:
        """The text printed since `shown` was last set, without colors."""
        return ESCAPES.sub("", self._raw)

    @shown.setter
    def shown(self, text: str) -> None:
        self._raw = text

    @property
    def visible(self) -> list[str]:
        """The rows that a reader sees: those of the last screen that have not scrolled away."""
        rows, columns = self.size
        text = ESCAPES.sub("", self._raw.rpartition(CLEAR)[2]).replace("\r\n", "\n")
        lines = [line.rpartition("\r")[2] for line in text.split("\n")]
        wrapped = [
            line[start : start + columns]
            for line in lines
            for start in range(0, max(1, len(line)), columns)
        ]
        return wrapped[-rows:]

    def resize(self, rows: int, columns: int) -> None:
        """Give the terminal a different size."""
        self.size = rows, columns
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        """Press *keys*, and forget the earlier screen."""
        self.shown = ""
        os.write(self.master, keys.encode())

    def save(self, file: Path, text: str) -> None:
        """Save *text* in one step, and forget what was shown before.

        A file that is emptied first could count as saved twice, the second time after the answer.
        """
        self.shown = ""
        replace_file(file, text.encode())

    def read_until(self, words: str) -> str:
        """Wait until *words* are shown, and the line of keys below them; return all of it."""

        def is_incomplete() -> bool:
            _, found, after = self.shown.rpartition(words)
            return not found or "q quit" not in after

        self._read_while(is_incomplete, words)
        return self.shown

    def read_screen(self, words: str) -> list[str]:
        """Wait until the last screen matches the pattern *words*, and nothing is left to check.

        Only then do exercises that pass count as passed before the next save.
        """

        def is_incomplete() -> bool:
            screen = "\n".join(self.visible)
            is_settled = "q quit" in screen and CHECKING not in screen
            return not is_settled or not re.search(words, screen, re.MULTILINE)

        self._read_while(is_incomplete, words)
        return self.visible

    def _read_while(self, is_incomplete: Callable[[], bool], words: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while is_incomplete():
            assert time.monotonic() < deadline, f"{words!r} is not in: {self.shown}"
            self._read(0.2)

    def _read(self, seconds: float) -> bool:
        """Read what arrives within *seconds*; return whether anything did."""
        readable, _, _ = select.select([self.master], [], [], seconds)
        if readable:
            self._raw += self._decoder.decode(os.read(self.master, 65536))
        return bool(readable)

    def ended(self) -> int:
        """Wait for the end of the program, and read the rest; return its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            self._read(0.05)
        while self._read(0):
            pass
        return self.process.wait(1)

    def close(self) -> None:
        """End the program, if it runs, and close both ends."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)
