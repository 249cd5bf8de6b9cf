"""What a student's program did instead of answering: a status and a sentence."""

from autograder.results import Status


class Fault(Exception):  # noqa: N818  # no error of ours: an outcome on its way to a record
    """The student's code broke, hung, or answered with something that can't cross.

    *safe* says whether the sentence is free of words the student's code chose; only then may it
    appear beside a check with hidden inputs.
    """

    def __init__(self, status: Status, message: str, *, public: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.public = public or message


class Raised(Fault):
    """The student's code raised an exception of its own: its type's name and its text, as data."""

    def __init__(self, kind: str, text: str, message: str, *, public: str) -> None:
        super().__init__(Status.RAISED, message, public=public)
        self.kind = kind
        self.text = text
