"""Marks the tensors that a check computes from results of the student's code.

Such a tensor may be wrong itself, so nothing that differs from it is wrong for sure.
"""

from typing import Any

from torch import Tensor

from autograder.suite.answer_values import parts


class OwnTensor(Tensor):
    """A result of the student's code, or a tensor that was computed from one.

    Only the rows and columns of one that is *returned* are those of the student.
    """

    returned = False


def mark(value: Any) -> Any:
    """Return *value* with marked tensors, at any depth."""
    if isinstance(value, Tensor):
        own = value.detach().as_subclass(OwnTensor)
        own.returned = True
        return own.requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {key: mark(one) for key, one in value.items()}
    return type(value)(map(mark, value)) if isinstance(value, list | tuple) else value


def detached(value: Tensor) -> Tensor:
    """Return *value* without its graph, but with its mark."""
    answer = value.detach()
    if isinstance(value, OwnTensor) and isinstance(answer, OwnTensor):
        answer.returned = value.returned
    return answer


def is_computed(value: Any) -> bool:
    """Whether *value* is a tensor that a check has computed from results, such as a part of one."""
    return isinstance(value, OwnTensor) and not value.returned


def unmark(value: Any) -> Any:
    """Return a tensor without its mark; anything else as it is."""
    return value.as_subclass(Tensor) if isinstance(value, OwnTensor) else value


def is_own(value: Any) -> bool:
    """Whether *value* is, or contains, a marked tensor."""
    return any(isinstance(one, OwnTensor) for one in parts(value))
