"""Defines faults, which describe how a student's program failed to answer."""

from autograder.results import Status


class Fault(Exception):  # noqa: N818  # a student's fault, which becomes a result
    """Raised when the student's code crashed, hung, or returned something that can't be sent.

    *public* is the sentence for a check with hidden inputs. It contains no text that the student's
    code chose. By default, it is *message*.
    """

    def __init__(self, status: Status, message: str, *, public: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.public = public or message


class Raised(Fault):
    """The student's code raised an exception: *kind* is its type's name, *text* its text.

    *refusal* is true if the code raised it on purpose.
    """

    def __init__(
        self, kind: str, text: str, message: str, *, public: str, refusal: bool = False
    ) -> None:
        super().__init__(Status.RAISED, message, public=public)
        self.kind = kind
        self.text = text
        self.refusal = refusal


class NoGradients(Raised):
    """The code returned, but no gradient can flow back: the result has a wrong type or shape."""


class NotFinished(Fault):
    """The student's code was still running at the time limit of one request.

    *loads_compiler* is true if it was loading torch's compiler.
    """

    def __init__(self, message: str, *, public: str, loads_compiler: bool = False) -> None:
        super().__init__(Status.TIMEOUT, message, public=public)
        self.loads_compiler = loads_compiler
