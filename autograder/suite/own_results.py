"""Marks the tensors that a check computes from results of the student's code.

Such a tensor may be wrong itself, so nothing that differs from it is wrong for sure.
"""

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from autograder.results import Status
from autograder.suite.checks import WrongAnswer

NAN = "A result that this check uses contains NaN."


class OwnTensor(Tensor):
    """A result of the student's code, or a tensor that was computed from one."""


def marked(value: Any) -> Any:
    """Return *value* with marked tensors, at any depth."""
    if isinstance(value, Tensor):
        own = value.detach().as_subclass(OwnTensor)
        return own.requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {key: marked(one) for key, one in value.items()}
    return type(value)(map(marked, value)) if isinstance(value, list | tuple) else value


def plain(value: Any) -> Any:
    """Return a tensor without its mark; anything else as it is."""
    return value.as_subclass(Tensor) if isinstance(value, OwnTensor) else value


def is_own(value: Any) -> bool:
    """Whether *value* is, or contains, a marked tensor."""
    if isinstance(value, dict):
        return any(map(is_own, value.values()))
    if isinstance(value, list | tuple):
        return any(map(is_own, value))
    return isinstance(value, OwnTensor)


def has_nan(value: Any) -> bool:
    """Whether *value* is, or contains, a tensor with NaN."""
    if isinstance(value, dict):
        return any(map(has_nan, value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_nan, value))
    return isinstance(value, Tensor) and bool(value.isnan().any())


def told_of_nan(wrong: WrongAnswer, answers: Iterable[Any]) -> WrongAnswer:
    """Return *wrong*, or that there is NaN in *answers*: a law that fails on it shows no more."""
    is_law = wrong.status is Status.WRONG_VALUE and not (wrong.public_suite_grid or wrong.grid)
    return WrongAnswer(wrong.status, NAN) if is_law and any(map(has_nan, answers)) else wrong
