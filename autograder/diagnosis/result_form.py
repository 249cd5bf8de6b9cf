"""Recognizes results in the wrong form: a tuple with one tensor, or an exception object."""

import builtins

from torch import Tensor

from autograder.diagnosis.description import WrongAnswerPattern
from autograder.diagnosis.patterns import Pattern
from autograder.sandbox.protocol import OpaqueValue

IN_TUPLE = WrongAnswerPattern.of("tuple_for_result")
ERROR = WrongAnswerPattern.of("exception_as_result")


def find_tuple(answer: object, expected: object) -> Pattern:
    """Recognize one tensor in a tuple or a list where a tensor is expected."""
    match answer:
        case [Tensor()] if isinstance(expected, Tensor):
            return IN_TUPLE
    return None


def find_error(answer: object) -> Pattern:
    """Recognize an exception of Python that was returned instead of raised."""
    kind = getattr(builtins, answer.kind, None) if isinstance(answer, OpaqueValue) else None
    return ERROR if isinstance(kind, type) and issubclass(kind, BaseException) else None
