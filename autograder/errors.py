"""Defines the exceptions of the kit, one class per cause.

Failures of student code raise none of them; they are outcomes (see ``results``).
"""

import errno
from typing import Final

NO_MEMORY: Final = (  # parts of error messages of torch and of the system
    "can't allocate memory",
    "out of memory",
    "Cannot allocate memory",
    "std::bad_alloc",
    "failed to map segment",
)
_RAISED_BY_LIBRARIES: Final = (RuntimeError, ImportError)


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


def _says_no_memory(error: BaseException) -> bool:
    """Whether a system call or a library reports that memory ran out.

    The messages of other exceptions are not searched, because they may quote student code.
    """
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    by_library = isinstance(error, _RAISED_BY_LIBRARIES)
    return by_library and any(text in str(error) for text in NO_MEMORY)
