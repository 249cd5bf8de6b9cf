"""The errors of the kit, one class per cause.

``CourseError``: the course's files are wrong; the course's author corrects them.
``SandboxError``: this machine can't run student code in the requested isolation.
``ClusterError``: a cluster can't be used: it does not answer, or its machines are not equal.
``GraderError``: a bug of the kit; no grade is written.
What a student's code does is not an error here: it is an outcome (see ``results``).
"""


class AutograderError(Exception):
    """Base class of all errors that the command line prints as one message."""


class CourseError(AutograderError):
    """A file of the course is missing, malformed or contradicts another."""


class SandboxError(AutograderError):
    """The requested isolation is not available on this machine."""


class ClusterError(AutograderError):
    """The cluster does not answer, is not private, or has a machine that would judge otherwise."""


class GraderError(AutograderError):
    """The grader itself failed; the submission has no grade."""


class LostProcessError(GraderError):
    """A process of the sandbox was killed from outside, or hangs; another one may do the work."""


class UsageError(AutograderError):
    """A command was called with something that it can't use."""


class UnclearOwnerError(UsageError):
    """It is unclear whether a student or an instructor packed something; nothing was written."""
