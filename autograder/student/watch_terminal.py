"""Reads keys, on Unix and on Windows, and shows screens while `watch` runs."""

import contextlib
import os
import select
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Final, Self

from rich.console import RenderableType

from autograder.errors import UsageError
from autograder.reports.terminal import NARROWEST, render
from autograder.student import editor

CTRL_C: Final = "\x03"
ESCAPE: Final = "escape"
UNKNOWN: Final = "unknown"  # a key that has no name here
SLICE_SECONDS: Final = 0.02  # between two polls of the keys on Windows
SEQUENCE_SECONDS: Final = 0.05  # until the rest of an arrow key arrives over a slow connection
# Names of the keys that send no character, by what a terminal sends after the escape character.
SEQUENCES: Final = {
    "A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end",
    "5~": "page up", "6~": "page down", "1~": "home", "4~": "end", "": ESCAPE,
}  # fmt: skip
CONTROLS: Final = {"\r": "enter", "\n": "enter", "\x7f": "backspace", "\b": "backspace"}
WINDOWS: Final = {  # by the second character that a console of Windows sends
    "H": "up", "P": "down", "K": "left", "M": "right",
    "I": "page up", "Q": "page down", "G": "home", "O": "end",
}  # fmt: skip


def keys() -> "UnixKeys | WindowsKeys":
    """Return the reader of keys for this operating system."""
    return WindowsKeys() if sys.platform == "win32" else UnixKeys()


class UnixKeys:
    """Reads keys on Linux and macOS; a signal, or a byte written to *waker*, ends a wait."""

    def __init__(self) -> None:
        import termios  # noqa: PLC0415  # Windows lacks it
        import tty  # noqa: PLC0415  # Windows lacks it

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
                (signal.SIGINT, self._on_end),
                (signal.SIGTERM, self._on_end),
                (signal.SIGHUP, self._on_end),
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
        """Return the next key, or ``resize`` for a new size; None after a wake or a time-out.

        A key without a character has a name, such as ``up``. The key is empty if the terminal is
        gone.
        """
        readable, _, _ = select.select([self._input, self._wake], [], [], seconds)
        if self._input in readable:
            return self._key()
        if self._wake in readable:
            woken = os.read(self._wake, 4096)
            return CTRL_C if b"q" in woken else "resize" if b"w" in woken else None
        return None

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Let a different program read the keys within the block."""
        self._termios.tcsetattr(self._input, self._termios.TCSADRAIN, self._before)
        try:
            yield
        finally:
            self._tty.setcbreak(self._input)

    def _key(self) -> str:
        """Read one key: a character, or the name of an arrow key and its like."""
        try:
            data = os.read(self._input, 1)
            if data == b"\x1b":
                return SEQUENCES.get(self._sequence(), UNKNOWN)
            while data and _is_incomplete(data):
                data += os.read(self._input, 1)
        except OSError:
            return ""
        key = data.decode("utf-8", "replace")
        return CONTROLS.get(key, key)

    def _sequence(self) -> str:
        """Read exactly one sequence after the escape character, because more keys may follow."""
        text = ""
        while select.select([self._input], [], [], SEQUENCE_SECONDS)[0]:
            byte = os.read(self._input, 1).decode("ascii", "replace")
            text += byte
            is_introduced = text[:1] in {"[", "O"}
            if not byte or not is_introduced or (len(text) > 1 and "@" <= byte <= "~"):
                break
        return text[1:]

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGCONT:  # the shell has changed the terminal's settings
            with contextlib.suppress(self._termios.error):
                self._tty.setcbreak(self._input)
        with contextlib.suppress(BlockingIOError):
            os.write(self.waker, b"w")

    def _on_end(self, _number: int, _frame: FrameType | None) -> None:
        """Interrupt the running code; if it catches the exception, the next wait returns Ctrl-C."""
        with contextlib.suppress(BlockingIOError):
            os.write(self.waker, b"q")
        raise KeyboardInterrupt


class WindowsKeys:
    """Polls the keys of a Windows console, where no call waits for both keys and a pipe."""

    def __init__(self) -> None:
        import msvcrt  # noqa: PLC0415  # Unix lacks it

        self._keys = msvcrt
        self._wake, self.waker = os.pipe()
        self._woken = threading.Event()
        self._size = shutil.get_terminal_size()

    def __enter__(self) -> Self:
        os.system("")  # noqa: S605, S607  # an empty command enables colours in an old console
        threading.Thread(target=self._read_wake, daemon=True).start()
        return self

    def __exit__(self, *_exception: object) -> None:
        os.close(self.waker)  # ends the thread

    def wait(self, seconds: float) -> str | None:
        """Return what ``UnixKeys.wait`` does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._keys.kbhit():  # type: ignore[attr-defined]  # exists only on Windows
                return self._key()
            if self._woken.is_set():
                self._woken.clear()
                return None
            before, self._size = self._size, shutil.get_terminal_size()
            if before != self._size:
                return "resize"
            time.sleep(SLICE_SECONDS)
        return None

    def lent(self) -> contextlib.AbstractContextManager[None]:
        """Do nothing: keys are only read in ``wait``."""
        return contextlib.nullcontext()

    def _key(self) -> str:
        """Read one key: a character, or the name of an arrow key and its like."""
        key: str = self._keys.getwch()  # type: ignore[attr-defined]  # exists only on Windows
        if key in {"\x00", "\xe0"}:
            second = self._keys.getwch()  # type: ignore[attr-defined]  # exists only on Windows
            return WINDOWS.get(second, UNKNOWN)
        return ESCAPE if key == "\x1b" else CONTROLS.get(key, key)

    def _read_wake(self) -> None:
        while os.read(self._wake, 4096):
            self._woken.set()
        os.close(self._wake)


def _is_incomplete(data: bytes) -> bool:
    """Whether *data* is the beginning of a character in UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return False


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
            raise UsageError(
                "`autograder watch` needs a terminal for its keys. "
                "Run it in one, or use `autograder check` here."
            )
        self.is_plain = plain or os.environ.get("TERM") == "dumb"
        self._last = ""
        self._keys = keys()
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
            text = render(screen(width, UNLIMITED), width, colour=False)
            if text != self._last:  # else it is on the last screen already
                self.write(f"\n{text}")
            self._last = text
            return
        text = render(screen(width, rows), width, colour="NO_COLOR" not in os.environ)
        self.write(f"{CLEAR}{text.rstrip()}")  # a line break in the last row would scroll

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
