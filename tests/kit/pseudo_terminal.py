"""`autograder watch` in a pseudo-terminal, as a learner uses it."""

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
from pathlib import Path

PATIENCE = 120.0  # seconds, for a machine on which other tests run
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class PseudoTerminal:
    """`autograder watch` in a separate terminal: types keys, and reads what is shown."""

    def __init__(
        self,
        folder: Path,
        environment: dict[str, str] | None = None,
        size: tuple[int, int] = (40, 100),
    ) -> None:
        self.master, self.slave = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(  # this Python
            [sys.executable, "-m", "autograder", "watch"],
            cwd=folder,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", **(environment or {})},
        )
        self.shown = ""

    def resize(self, rows: int, columns: int) -> None:
        """Give the terminal another size."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        """Press *keys*, and forget the earlier screen."""
        self.shown = ""
        os.write(self.master, keys.encode())

    def save(self, file: Path, text: str) -> None:
        """Save *text* as an editor does, and forget the earlier screen."""
        self.shown = ""
        file.write_text(text, "utf-8")

    def read_until(self, words: str) -> str:
        """Wait until *words* are shown, and the line of keys below them; return all of it."""
        deadline = time.monotonic() + PATIENCE
        while words not in self.shown or "q quit" not in self.shown.rpartition(words)[2]:
            assert time.monotonic() < deadline, f"{words!r} is not in: {self.shown}"
            if select.select([self.master], [], [], 0.2)[0]:
                text = os.read(self.master, 65536).decode("utf-8", "replace")
                self.shown += ESCAPES.sub("", text)
        return self.shown

    def ended(self) -> int:
        """Wait for the end of the program; return its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            if select.select([self.master], [], [], 0.05)[0]:
                self.shown += os.read(self.master, 65536).decode("utf-8", "replace")
        return self.process.wait(1)

    def close(self) -> None:
        """End the program, if it runs, and close both ends."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)
