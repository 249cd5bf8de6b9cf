"""Notes operations that the sandbox refuses, even if the student's code catches the exception.

A worker reports them at its end. It can forge this, so an instructor gets a hint and no proof.
"""

import os
import sys
from types import FrameType
from typing import Final, Literal, get_args

Attempt = Literal["files outside its folder", "the network", "other programs"]
ATTEMPTS: Final[tuple[Attempt, ...]] = get_args(Attempt)
_FILES, _NETWORK, _PROGRAMS = ATTEMPTS
_EVENTS: Final[dict[str, Attempt]] = {
    **dict.fromkeys(("open", "os.listdir", "os.scandir"), _FILES),
    **dict.fromkeys(("socket.__new__", "socket.connect", "socket.getaddrinfo"), _NETWORK),
    **dict.fromkeys(("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"), _PROGRAMS),
    "os.fork": _PROGRAMS,
}


class Attempts:
    """Collects the kinds of attempts since ``watch``."""

    def __init__(self) -> None:
        self.found: set[Attempt] = set()
        self._allowed: tuple[str, ...] = ()

    def watch(self, *allowed: str) -> None:
        """Note what student code tries from now on, except with files below *allowed* folders."""
        self._allowed = tuple(f"{folder.rstrip('/')}/" for folder in allowed)
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        attempt = _EVENTS.get(event)
        if attempt is None or attempt in self.found:
            return
        path = arguments[0] if attempt == _FILES and arguments else ""
        if not isinstance(path, str | bytes):
            return  # a descriptor
        whole = f"{os.path.abspath(os.fsdecode(path))}/"  # noqa: PTH100  # a Path would follow links
        if (attempt != _FILES or not whole.startswith(self._allowed)) and _is_students(
            sys._getframe(1)  # noqa: SLF001  # the documented way to the caller
        ):
            self.found.add(attempt)


def _is_students(frame: FrameType | None) -> bool:
    """Whether student code, perhaps through Python's own library, runs *frame*.

    Packages read their own files, and an import looks into folders. Neither counts.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib") or "site-packages" in file:
            return False
        if not file.startswith(("<", "/")):  # a module or a cell of the submission has no folder
            return True
        frame = frame.f_back
    return False
