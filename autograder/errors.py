"""Defines the errors of the kit, one class per cause.

``CourseError``: the course's files are wrong; the course's author corrects them. ``SandboxError``:
this machine can't run student code in the requested isolation. ``ClusterError``: a cluster can't be
used: it does not answer, or its machines differ. ``GraderError``: a bug of the kit; no grade is
written. A failure of student code is not an error here: it is an outcome (see ``results``).
"""

import errno
from typing import Final

NO_MEMORY: Final = (  # in texts of torch's errors and of the system's
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
    """A file of the course is missing, malformed or contradicts another."""


class SandboxError(AutograderError):
    """The requested isolation is not available on this machine."""


class ClusterError(AutograderError):
    """The cluster does not answer, is not private, or has a machine that differs."""


class GraderError(AutograderError):
    """The grader itself failed; the submission has no grade."""


class LostProcessError(GraderError):
    """A process of the sandbox was killed from outside, or hangs; a new process may do the work."""


class OutOfMemoryError(LostProcessError):
    """A process has no memory left for a submission; a new one may grade it."""


class UsageError(AutograderError):
    """A command was called with something that it can't use."""


class UnclearOwnerError(UsageError):
    """It is unclear whether a student or an instructor packed something; nothing was written."""


def lacks_memory(error: BaseException | None) -> bool:
    """Whether this process had no memory left when *error* was raised, or one that led to it."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        if isinstance(error, MemoryError) or _says_no_memory(error):
            return True
        chain.append(error)
        error = error.__cause__ or error.__context__
    return False


def require_memory(error: BaseException | None) -> None:
    """Raise ``OutOfMemoryError`` if *error* means that this process had no memory left."""
    if lacks_memory(error):
        msg = f"The grading process has no memory left ({type(error).__name__}: {error})."
        raise OutOfMemoryError(msg) from error


def _says_no_memory(error: BaseException) -> bool:
    """Whether Python's system calls or a library report it; other texts may quote a student's."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    by_library = isinstance(error, _RAISED_BY_LIBRARIES)
    return by_library and any(text in str(error) for text in NO_MEMORY)
