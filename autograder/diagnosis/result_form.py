"""Recognizes a result in the wrong form: alone in a tuple, or an exception that is not raised."""

import builtins

from torch import Tensor

from autograder.diagnosis.description import WrongAnswerPattern
from autograder.diagnosis.patterns import Pattern
from autograder.sandbox.protocol import OpaqueValue

IN_TUPLE = WrongAnswerPattern.of("result_in_tuple")
ERROR = WrongAnswerPattern.of("error_returned")


def find_tuple(answer: object, expected: object) -> Pattern:
    """Recognize one tensor in a tuple or a list, where a tensor is expected."""
    match answer:
        case [Tensor()] if isinstance(expected, Tensor):
            return IN_TUPLE
    return None


def find_error(answer: object) -> Pattern:
    """Recognize one of Python's exceptions as an answer."""
    kind = getattr(builtins, answer.kind, None) if isinstance(answer, OpaqueValue) else None
    return ERROR if isinstance(kind, type) and issubclass(kind, BaseException) else None
