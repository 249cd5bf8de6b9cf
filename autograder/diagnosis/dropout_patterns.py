"""Describes wrong answers to requests in which dropout sets numbers to zero at random.

Another correct program drops different numbers, so only numbers that both keep are compared.
"""

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from autograder.diagnosis.description import WrongAnswerPattern
from autograder.diagnosis.patterns import MIN_ENTRIES, Pattern
from autograder.suite.noise import Agreement, agreement, varies

Steps = Sequence[tuple[str, Tensor]]  # the names of functions, with their results
NOT_RESCALED = WrongAnswerPattern.of("rest_not_rescaled")


def drops_at_random(steps: Steps) -> bool:
    """Whether dropout changed a tensor, so that correct programs give different numbers."""
    return _factor(steps) is not None


def describe_dropout(answer: object, expected: object, steps: Steps) -> Pattern:
    """Recognize kept numbers that are not divided by the probability of being kept."""
    factor = _factor(steps)
    if not isinstance(answer, Tensor) or not isinstance(expected, Tensor):
        return None
    if factor is None or answer.shape != expected.shape:
        return None
    kept = (answer != 0) & (expected != 0)
    mine, right = answer.detach()[kept], expected.detach()[kept]
    if len(mine) < MIN_ENTRIES or not varies(right):
        return None
    is_smaller = agreement(mine * factor, right) is Agreement.SAME
    return NOT_RESCALED if is_smaller else None


def _factor(steps: Steps) -> float | None:
    """Return the factor of the kept numbers in the right computation; ``None`` without dropout."""
    for (_, before), (name, after) in itertools.pairwise(steps):
        if name == "dropout" and not torch.equal(after, before):
            kept = (after != 0) & before.isfinite() & (before != 0)
            ratios = after[kept] / before[kept]
            return float(ratios.median()) if len(ratios) else 0.0
    return None
