"""Mistakes in masks."""

import pytest

from autograder.diagnosis.mistakes import masks
from tests.kit.diagnosis.mistakes.conftest import as_made, made_by

MASKED = """
def wanted(scores: Tensor, keys: Tensor):
    hidden = torch.ones(3, 3).triu(1) == 1
    masked = scores.masked_fill(hidden, float("-inf"))
    return torch.softmax(masked, dim=-1)
"""
UNMASKED = """
def wanted(x: Tensor):
    return x.softmax(1)
"""
PADDED = """
def wanted(scores: Tensor, mask: Tensor):
    return scores.masked_fill(mask.unsqueeze(-2), float("-inf"))
"""
MADE = (  # code; sentences about mistakes in it, each above the lines that differ in its program
    pytest.param(
        MASKED,
        """
Nothing is hidden: the result is the one without a mask.
    masked = scores
What must be hidden is visible, and what must be visible is hidden.
    masked = scores.masked_fill(~hidden, float('-inf'))
Hidden scores are low, but not low enough: hidden tokens keep a small weight.
    masked = scores.masked_fill(hidden, -20.0)
The mask hides queries where it must hide keys.
    masked = scores.masked_fill(hidden.transpose(-2, -1), float('-inf'))
The mask of the first item applies to all items.
    masked = scores.masked_fill(hidden[:1], float('-inf'))
The caller's `scores` is overwritten.
    masked = scores.masked_fill_(hidden, float('-inf'))
Weights are hidden after the softmax, so those that remain no longer sum to one.
    masked = scores; return torch.softmax(masked, dim=-1).masked_fill(hidden, 0.0)
Each token also sees the one after it.
    hidden = torch.ones(3, 3).triu(2) == 1
The mask is the wrong triangle: tokens see the later ones, not the earlier ones.
    hidden = torch.ones(3, 3).tril(-1) == 1
All tokens are hidden: the triangle leaves nothing visible.
    hidden = torch.ones(3, 3) == 1
""",
        id="masked",
    ),
    pytest.param(
        UNMASKED,
        """
Later tokens are hidden, which this exercise does not ask for.
    return (lambda s: s.masked_fill(torch.ones_like(s).triu(1) == 1, float('-inf')))(x).softmax(1)
""",
        id="unmasked",
    ),
    pytest.param(
        PADDED,
        """
The mask hides queries where it must hide keys.
    return scores.masked_fill(mask.unsqueeze(-2).transpose(-2, -1), float('-inf'))
The mask gets no new axis, so that its entries meet those of another axis.
    return scores.masked_fill(mask, float('-inf'))
The mask gets its axis in front, so that its entries meet those of another axis.
    return scores.masked_fill(mask.unsqueeze(0), float('-inf'))
""",
        id="padded",
    ),
)


@pytest.mark.parametrize(("code", "made"), MADE)
def test_a_step_has_its_mistakes(code: str, made: str):
    """Each has its sentence and its program."""
    assert as_made(made).items() <= made_by(masks, code).items()


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert made_by(masks, "def wanted(n: int):\n    pass\n") == {}
