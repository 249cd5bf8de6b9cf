"""What one run of one check showed: every answer in order, and how it ended.

Two runs are alike if all their answers agree as tightly as float32 allows and they ended alike.
They show the same if something besides an exception's text says so: many a mistake ends in the
same text. Only then may one run's name be given to the other.
"""

import itertools
import math
import re
from typing import Any, NamedTuple

import torch
from torch import Tensor

from autograder.sandbox.faults import Raised
from autograder.suite.student_proxy import RemoteModule

SAME_ATOL = 1e-5  # two spellings of one formula in float32 differ by about 1e-6; two formulas, on
SAME_RTOL = 1e-5  # loud inputs, by over 0.3, and on the quietest documented tensor by 8e-4
SILENT = {"load", "mode", "new", "operators"}  # answers that tell an idiom, or nothing


class Observation(NamedTuple):
    """The answers that a check saw, and what it raised in the end; ``None``: it passed.

    *changed* says whether the last call wrote into an argument.
    """

    answers: tuple[tuple[str, Any], ...]
    error: BaseException | None
    changed: bool = False

    @property
    def last(self) -> Any:
        """The answer that the check judged last."""
        return self.answers[-1][1] if self.answers else None


NOTHING = Observation((), None)


def matches_conclusively(
    left: Observation, right: Observation, ours: Observation = NOTHING
) -> bool:
    """Whether two runs are alike, and more than the text of an exception makes them so."""
    return matches(left, right, ours) and (
        bool(_comparable_answers(left)) or words_of(left.error) == words_of(right.error)
    )


def matches(left: Observation, right: Observation, ours: Observation = NOTHING) -> bool:
    """Whether two runs can't be told apart; *ours* is the solution's run of the same check.

    Where neither answered, a check's last words must agree; an exception's words quote a line of
    the code, so that of these only type and text count.
    """
    if not _ended_alike(left.error, right.error):
        return False
    mine, theirs = _comparable_answers(left, ours), _comparable_answers(right, ours)
    if not mine and not theirs and not isinstance(left.error, Raised):
        return words_of(left.error) == words_of(right.error)
    return len(mine) == len(theirs) and all(map(_equal, mine, theirs))


def _comparable_answers(observation: Observation, ours: Observation = NOTHING) -> list[Any]:
    """Return the answers without what only tells an idiom."""
    asked = itertools.zip_longest(observation.answers, ours.answers[: len(observation.answers)])
    return [_judged(verb, answer, known) for (verb, answer), known in asked if verb not in SILENT]


def _judged(verb: str, answer: Any, known: tuple[str, Any] | None) -> Any:
    """Return the part of *answer* that a check can judge.

    What a buffer holds is the student's to choose, and no check knows what a parameter should hold
    that the solution doesn't have: that they are there is all.
    """
    if not isinstance(answer, dict) or verb not in {"buffers", "parameters"}:
        return answer
    if verb == "buffers":
        return dict.fromkeys(answer)
    ours = known[1] if known and known[0] == verb and isinstance(known[1], dict) else answer
    return {name: value if name in ours else None for name, value in answer.items()}


def _ended_alike(left: BaseException | None, right: BaseException | None) -> bool:
    """Compare how two runs ended: as outcomes, and exceptions of the code's own by their text."""
    if isinstance(left, Raised) and isinstance(right, Raised):
        return (left.kind, left.text) == (right.kind, right.text)
    return status_of(left) == status_of(right)


def status_of(error: BaseException | None) -> str:
    """Return the status that *error* carries, or its type's name."""
    return str(getattr(error, "status", type(error).__name__))


def words_of(error: BaseException | None) -> str:
    """Return the message without its numbers: a line's number says nothing about the mistake."""
    return re.sub(r"\d+", "", str(getattr(error, "message", error)))


def _equal(left: Any, right: Any) -> bool:  # noqa: PLR0911  # one kind of answer a line
    if type(left) is not type(right):
        return False
    match left:
        case Tensor():
            return _equal_tensors(left.detach(), right.detach())
        case dict():
            return left.keys() == right.keys() and all(
                _equal(left[key], right[key]) for key in left
            )
        case list() | tuple():
            return len(left) == len(right) and all(map(_equal, left, right))
        case float():
            both_nan = math.isnan(left) and math.isnan(right)
            return both_nan or math.isclose(left, right, rel_tol=SAME_RTOL, abs_tol=SAME_ATOL)
        case RemoteModule():
            return True
        case _:
            return bool(left == right)


def _equal_tensors(left: Tensor, right: Tensor) -> bool:
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    if not left.is_floating_point():
        return torch.equal(left, right)
    mine, theirs = left.double(), right.double()  # torch compares no float8
    return torch.allclose(mine, theirs, rtol=SAME_RTOL, atol=SAME_ATOL, equal_nan=True)
