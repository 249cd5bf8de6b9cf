"""Describes exceptions of code that follows the conventions of a different course.

The conventions of this course are derived from the solution: the requests that it answers, and the
tensors that it computes. The text of an exception only selects the convention. No
sentence contains a word that the student wrote, or a value of a hidden input.
"""

import re
from collections.abc import Iterator

import torch
from torch import Tensor

from autograder.diagnosis.description import WrongAnswerPattern
from autograder.diagnosis.patterns import Pattern
from autograder.results import Status
from autograder.sandbox.faults import Raised
from autograder.sandbox.protocol import Request, TensorValue
from autograder.sandbox.tensors import decode_tensor
from autograder.sandbox.transcript import Exchange

MAX_NAMES = 8  # in one sentence
BOOLEANS_NEEDED = re.compile(
    r"masked_\w{1,80} only supports boolean masks|masked_select: expected BoolTensor for mask"
    r"|expected condition to be a boolean tensor"
)
OTHER_MASK = re.compile(
    BOOLEANS_NEEDED.pattern + r"|~ \(operator.invert\) is only implemented on integer and Boolean"
    r"|\"bitwise_\w{1,80}\" not implemented for '|tensors used as indices must be"
    r"|bool tensor is not supported"
)


def find_clash(error: BaseException | None, exchange: Exchange, owner: str) -> Pattern:
    """Describe the convention that the code violated when it ended in *error*, if it is certain.

    *exchange* is the unanswered request with the solution's reply. *owner* is the function or class
    of the solution that the request is for.
    """
    if isinstance(error, Raised):
        return _other_mask(error.text, exchange)
    missing = getattr(error, "status", None) is Status.MISSING
    if missing and str(error).startswith("There is no parameter "):
        return _other_parameters(exchange.request, owner)
    return None


def _other_mask(text: str, exchange: Exchange) -> Pattern:
    """Recognize a mask of numbers that is used as a mask of booleans, or the reverse."""
    if not OTHER_MASK.search(text):
        return None
    for mask in _masks(exchange.request):
        if _zeros_are_hidden(mask, exchange):
            boolean = mask.dtype is torch.bool
            return WrongAnswerPattern.of("other_mask.booleans" if boolean else "other_mask.numbers")
    if not BOOLEANS_NEEDED.search(text):
        return None
    return WrongAnswerPattern.of("mask_not_boolean")


def _masks(request: Request) -> Iterator[Tensor]:
    """Yield the arguments of *request* that contain only ones and zeros."""
    for value in (*request.args, *request.kwargs.values()):
        if isinstance(value, TensorValue) and len(value.shape) > 1:
            tensor = decode_tensor(value)
            if bool(((tensor == 0) | (tensor == 1)).all()):
                yield tensor


def _zeros_are_hidden(mask: Tensor, exchange: Exchange) -> bool:
    """Whether the solution hides exactly the keys at which *mask* is zero."""
    hidden = [
        step.isneginf() for _, step in exchange.tensors if step.ndim > 1 and step.isneginf().any()
    ]
    zeros = (mask == 0, (mask == 0).unsqueeze(-2))  # a row for each query, or for all
    return any(
        _broadcasts(zero, step) and bool((zero.expand_as(step) == step).all())
        for step in hidden
        for zero in zeros
    )


def _broadcasts(small: Tensor, large: Tensor) -> bool:
    pairs = zip(reversed(small.shape), reversed(large.shape), strict=False)
    return small.ndim <= large.ndim and all(size in {1, wanted} for size, wanted in pairs)


def _other_parameters(request: Request, owner: str) -> Pattern:
    """Describe code that lacks the parameters which the check sets."""
    names = list(request.kwargs)
    if request.verb != "load" or not names:
        return None
    return WrongAnswerPattern.of("other_parameters", what=owner, names=_listed(names))


def _listed(names: list[str]) -> str:
    """Join at most ``MAX_NAMES`` of *names* into one list."""
    if len(names) > MAX_NAMES:
        return f"{', '.join(names[:MAX_NAMES])}, …"
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
