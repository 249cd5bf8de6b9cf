"""Tests mistakes in masks."""

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
FILLED = """
def wanted(ids: Tensor, done: Tensor, padding: int):
    return ids.masked_fill(done, padding)
"""
MADE = (  # code; sentences about mistakes in it, each above the lines that differ in its program
    pytest.param(
        MASKED,
        """
A mask has no effect: the result is the same as without it.
    masked = scores
The mask is inverted: visible tokens are hidden, and hidden tokens are visible.
    masked = scores.masked_fill(~hidden, float('-inf'))
Hidden scores are low, but not low enough: hidden tokens keep a small weight.
    masked = scores.masked_fill(hidden, -10.0)
The mask is transposed: its rows are used as columns.
    masked = scores.masked_fill(hidden.transpose(-2, -1), float('-inf'))
The mask of the first item is used for all items.
    masked = scores.masked_fill(hidden[:1], float('-inf'))
Your code overwrites the caller's `scores`.
    masked = scores.masked_fill_(hidden, float('-inf'))
Hidden weights still count in the divisor of the softmax, so the others do not sum to one.
    masked = scores; return torch.softmax(masked, dim=-1).masked_fill(hidden, 0.0)
Each token also sees the one after it.
    hidden = torch.ones(3, 3).triu(2) == 1
The mask is the wrong triangle: tokens see later tokens instead of earlier ones.
    hidden = torch.ones(3, 3).tril(-1) == 1
All tokens are hidden: the mask leaves nothing visible.
    hidden = torch.ones(3, 3) == 1
""",
        id="masked",
    ),
    pytest.param(
        UNMASKED,
        """
Later tokens are hidden, but this exercise does not ask for it.
    return (lambda s: s.masked_fill(torch.ones_like(s).triu(1) == 1, float('-inf')))(x).softmax(1)
""",
        id="unmasked",
    ),
    pytest.param(
        PADDED,
        """
The mask is transposed: its rows are used as columns.
    return scores.masked_fill(mask.unsqueeze(-2).transpose(-2, -1), float('-inf'))
The mask gets no new axis, so its entries are aligned with the wrong axis.
    return scores.masked_fill(mask, float('-inf'))
The mask gets its new axis in front, so its entries are aligned with the wrong axis.
    return scores.masked_fill(mask.unsqueeze(0), float('-inf'))
""",
        id="padded",
    ),
)


@pytest.mark.parametrize(("code", "made"), MADE)
def test_a_step_has_its_mistakes(code: str, made: str):
    """Each mistake in a step has its sentence and its program."""
    assert as_made(made).items() <= made_by(masks, code).items()


def test_a_variable_that_is_filled_in_hides_no_score():
    """If ids are filled with the padding, no sentence speaks about scores."""
    assert made_by(masks, FILLED) == {}


def test_other_code_has_none():
    """A rule makes no mistake in code that it does not recognize."""
    assert made_by(masks, "def wanted(n: int):\n    pass\n") == {}


@pytest.mark.parametrize(
    ("triangle", "said", "line"),
    [
        pytest.param("triu(-1)", "Each token also sees the one after it.", "triu(0)", id="minus"),
        pytest.param(
            "tril(diagonal=n)",
            "The mask is shifted by one or more diagonals.",
            "tril(diagonal=0)",
            id="a-name",
        ),
    ],
)
def test_a_diagonal_is_any_number(triangle: str, said: str, line: str):
    """A diagonal below the main one moves by one, and one with a name becomes the main one."""
    code = f"def wanted(x: Tensor, n: int):\n    return x.{triangle}\n"

    assert made_by(masks, code)[said] == f"return x.{line}"
