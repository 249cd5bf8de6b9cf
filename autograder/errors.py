"""What can go wrong, one class per cause.

``CourseError``: the course's files are wrong, its author mends them.
``SandboxError``: this machine can't run student code as safely as asked.
``GraderError``: our own bug; no grade is written.
Whatever a student's code does is no error here: it is an outcome (see ``results``).
"""


class AutograderError(Exception):
    """Base of everything that the command line shows as one plain message."""


class CourseError(AutograderError):
    """A file of the course is missing, malformed or contradicts another."""


class SandboxError(AutograderError):
    """The asked isolation can't be had on this machine."""


class GraderError(AutograderError):
    """The grader itself failed; the submission at hand has no grade."""


class UsageError(AutograderError):
    """A command was given something that it can't serve."""
