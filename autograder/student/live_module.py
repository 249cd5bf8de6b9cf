"""Provides the student's module to a notebook, reloaded whenever the file has changed.

If the new code can't run, IPython's autoreload prints a traceback and keeps the old code. This
module reports the problem in one line instead, and never runs old code.
"""

import linecache
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from autograder.errors import AutograderError
from autograder.sanitize import line
from autograder.submission.files import module_text

MAX_ERROR = 200  # characters of an exception, on one line
WAITING = 5  # times as long may code take that only waits, or whose machine is busy


class NotReadyError(AutograderError):
    """The student's file can't be used as it is; the message is the reason."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]  # IPython asks for it: the message is enough


class CellTimeError(BaseException):
    """Raised if a cell takes too long; ``except Exception`` in student code does not catch it."""


class LiveModule:
    """A module with the names of *file*, which runs again whenever the file has changed.

    *changed* has objects in the places of some names. A name that is not available raises
    ``NotReadyError``, which ``lab.needs`` prints as one line.
    """

    def __init__(self, file: Path, changed: Mapping[str, object] | None = None) -> None:
        self._file, self._changed = file, changed or {}
        self._text: bytes | None = None
        self._module = ModuleType(file.stem)
        self._problem = ""

    def __getattr__(self, name: str) -> Any:
        """Return the current value of *name* in the file."""
        if name.startswith("_"):  # IPython asks for many such names
            raise AttributeError(name)
        self._refresh()
        if self._problem:
            raise NotReadyError(self._problem)
        if name in self._changed:
            return self._changed[name]
        try:
            return getattr(self._module, name)
        except AttributeError:
            raise NotReadyError(
                f"{self._file.name} does not define `{name}`. "
                "Is the file saved, and the name spelled correctly?"
            ) from None

    def __dir__(self) -> list[str]:
        """List the names, for completion."""
        self._refresh()
        return dir(self._module)

    def __repr__(self) -> str:
        return f"<the module in {self._file}, as it was last saved>"

    def _refresh(self) -> None:
        """Run the file if its content has changed since it last ran."""
        try:
            text = self._file.read_bytes()
        except OSError as error:
            self._text = None
            self._problem = f"{self._file} can't be read ({error.strerror})."
            return
        if text != self._text:
            self._text = None  # if this is interrupted, the next use reads it again
            self._module = ModuleType(self._file.stem)
            self._problem = self._run(text)
            self._text = text

    def _run(self, text: bytes) -> str:
        """Run *text* as the module; return a description of its problem, empty if there is none."""
        self._module.__file__ = str(self._file)
        sys.modules[self._file.stem] = self._module  # dataclasses and pickle look there
        linecache.checkcache(str(self._file))
        try:
            source, _ = module_text(text, self._file.name)
            exec(compile(source, str(self._file), "exec"), vars(self._module))  # noqa: S102  # the student's own file, in the student's own kernel
        except SyntaxError as error:
            what = line(str(error.msg), MAX_ERROR)
            where = f"{self._file.name}, line {error.lineno}"
            return f"{where}: {what}. Nothing in the file runs until you fix this and save."
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a half-written file may raise anything
            return f"{self._file.name} stops when it is imported: {describe(error, self._file)}."
        return ""


def describe(error: BaseException, file: Path | None = None) -> str:
    """Describe *error* in one short line, with the line of *file* that raised it, if any."""
    try:
        first, *_ = str(error).strip().split("\n")
    except Exception:  # noqa: BLE001  # it is a student's class
        first = ""
    kind = type(error).__name__
    text = line(f"{kind}: {first}" if first else kind, MAX_ERROR)
    number = line_in(error, file)
    return f"{text}, line {number} of {file.name}" if file and number else text


def line_in(error: BaseException, file: Path | None) -> int:
    """Return the line of *file* in the innermost frame of *error*; 0 if no frame is in *file*."""
    frames = traceback.walk_tb(error.__traceback__)
    lines = [number for frame, number in frames if frame.f_code.co_filename == str(file)]
    return lines[-1] if lines else 0


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise ``CellTimeError`` in the block after *seconds* of this thread's processor time.

    A block that mostly waits ends after ``WAITING`` times as many seconds of the clock. Without
    such a timer, as on Windows, nothing is limited.
    """
    main = threading.current_thread() is threading.main_thread()
    if not (main and hasattr(signal, "setitimer")):
        yield
        return

    begun, computed = time.monotonic(), time.thread_time()

    def stop(_number: int, _frame: Any) -> None:
        used = time.thread_time() - computed
        if used >= seconds or time.monotonic() - begun >= WAITING * seconds:
            raise CellTimeError

    before = signal.signal(signal.SIGALRM, stop)
    again = min(1.0, seconds)  # a bare `except:` may catch the first
    signal.setitimer(signal.ITIMER_REAL, seconds, again)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
