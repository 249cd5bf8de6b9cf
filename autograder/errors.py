"""Defines the exceptions of the kit, one class per cause.

Failures of student code raise none of them; they are outcomes (see ``results``).
"""

import errno
import platform
import sys
import traceback
from collections.abc import Iterator
from typing import Final

NO_MEMORY: Final = (  # parts of error messages of torch and of the system
    "can't allocate memory",
    "out of memory",
    "Cannot allocate memory",
    "std::bad_alloc",
    "failed to map segment",
)
_RAISED_BY_LIBRARIES: Final = (RuntimeError, ImportError)
_LIBRARIES: Final = {"torch": "torch", "numpy": "NumPy"}  # without them, nothing can be checked
# Modules of Python's own that are missing if it was built without these packages of Debian.
_HEADERS: Final = {
    "_bz2": "libbz2-dev",
    "_ctypes": "libffi-dev",
    "_hashlib": "libssl-dev",
    "_lzma": "liblzma-dev",
    "_sqlite3": "libsqlite3-dev",
    "_ssl": "libssl-dev",
    "zlib": "zlib1g-dev",
}
_MAX_REASON: Final = 400  # characters; NumPy explains a failed import on a whole page


class AutograderError(Exception):
    """Base class of all errors that the command line prints as one message."""


class CourseError(AutograderError):
    """Raised if a file of the course is missing, is malformed, or contradicts a different file."""


class SandboxError(AutograderError):
    """Raised if this machine can't run student code in the requested isolation."""


class ClusterError(AutograderError):
    """Raised if the cluster does not answer, is not private, or has a machine that differs."""


class GraderError(AutograderError):
    """Raised if the grader itself fails, so that the submission has no grade."""


class LostProcessError(GraderError):
    """Raised if a sandbox process hangs or was killed; a new process may do the work."""


class OutOfMemoryError(LostProcessError):
    """Raised if a process has no memory left for a submission; a new one may grade it."""


class LibraryError(AutograderError):
    """Raised if torch, NumPy or a part of Python can't be loaded on this machine."""


class UsageError(AutograderError):
    """Raised if a command is called with an argument or a file that it can't use."""


class UnclearDownloadError(UsageError):
    """Raised if it is unclear to whom submissions belong; nothing has been written."""


def lacks_memory(error: BaseException | None) -> bool:
    """Whether *error*, or one that led to it, means that this process ran out of memory."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        if isinstance(error, MemoryError) or _says_no_memory(error):
            return True
        chain.append(error)
        error = error.__cause__ or error.__context__
    return False


def require_memory(error: BaseException | None) -> None:
    """Raise ``OutOfMemoryError`` if *error* means that this process ran out of memory."""
    if lacks_memory(error):
        msg = f"The grading process has no memory left ({type(error).__name__}: {error})."
        raise OutOfMemoryError(msg) from error


def library_error(error: Exception) -> LibraryError | None:
    """Return what to do about *error* if it means that a library can't be loaded.

    A missing part of Python itself comes first. Of torch and NumPy, the place where *error* was
    raised decides: in the import of the library, or in one of the kit's modules that lacks a name
    of it.
    """
    if part := _missing_part(error):
        return _incomplete_python(part)
    found = [*_failed_imports(error)]
    if not found:
        return None
    library, place = found[-1]
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:_MAX_REASON]
    return LibraryError(
        f"{_LIBRARIES[library]} can't be loaded: {reason} ({place}). The kit needs it to run code. "
        f"Install it again: python -m pip install --force-reinstall {library}. "
        "On Windows, also install Microsoft's Visual C++ Redistributable. If the file named here "
        f"is your own, rename it. This is Python {platform.python_version()} on "
        f"{platform.system()} {platform.machine()}."
    )


def _missing_part(error: Exception) -> str:
    """Return the module of Python's own that is missing or can't be loaded; empty if none is."""
    name = (isinstance(error, ImportError) and error.name) or ""
    if name not in sys.stdlib_module_names:
        return ""
    suffixes = (".so", ".pyd")  # a file of Python that is named like it is somebody's own
    loaded = str(error.path or "") if isinstance(error, ImportError) else ""
    return name if isinstance(error, ModuleNotFoundError) or loaded.endswith(suffixes) else ""


def _incomplete_python(part: str) -> LibraryError:
    headers = f" (on Debian and Ubuntu: {_HEADERS[part]})" if part in _HEADERS else ""
    return LibraryError(
        f"This Python can't load its own module {part}, which the kit needs: Python "
        f"{platform.python_version()}, {sys.executable}. That happens if Python was built from "
        "source, for example by pyenv, without the library that the module uses. Install this "
        f"library with its headers{headers} and build Python again; or use a complete Python, for "
        "example from python.org, conda or uv. Then create the environment and install the kit "
        "again. Your files were not changed."
    )


def _failed_imports(error: Exception) -> Iterator[tuple[str, str]]:
    """Yield each library whose import led to *error*, with the file and line, outermost first."""
    frames = [*traceback.walk_tb(error.__traceback__)]
    modules = [item for item in frames if item[0].f_code.co_name == "<module>"]
    for frame, line in modules:
        library = str(frame.f_globals.get("__name__")).partition(".")[0]
        if library in _LIBRARIES:
            yield library, f"{frame.f_code.co_filename}, line {line}"
    at_module_level = bool(modules) and frames[-1] == modules[-1]
    module = getattr(getattr(error, "obj", None), "__name__", "")  # which lacks an attribute
    lacking = (error.name or "") if isinstance(error, ImportError) else str(module)
    lacking = lacking.partition(".")[0]
    if lacking in _LIBRARIES and (at_module_level or isinstance(error, ModuleNotFoundError)):
        yield lacking, getattr(error, "path", None) or "no such module"
    if str(error) == "Numpy is not available":  # torch was built for another version of it
        yield "numpy", "torch can't use this version"


def _says_no_memory(error: BaseException) -> bool:
    """Whether memory ran out, by the error's own type: other messages may quote student code."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    by_library = isinstance(error, _RAISED_BY_LIBRARIES)
    return by_library and any(text in str(error) for text in NO_MEMORY)
