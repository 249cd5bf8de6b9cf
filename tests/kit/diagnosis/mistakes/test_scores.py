"""Tests mistakes in the scores and the softmax."""

import pytest

from autograder.diagnosis.mistakes import scores
from tests.kit.diagnosis.mistakes.conftest import as_made, made_by

SCALED = """
def wanted(scores: Tensor, keys: Tensor):
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
"""
WRITTEN_OUT = """
def wanted(scores: Tensor, dim: int):
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim)
"""
MIXED = """
def wanted(weights: Tensor, values: Tensor):
    return weights @ values
"""
MADE = (  # code; sentences about mistakes in it, each above the lines that differ in its program
    pytest.param(
        SCALED,
        """
The scores are not divided by the square root of the key size.
    return torch.softmax(scores, dim=-1)
In total, the scores are divided by the key size instead of its square root.
    return torch.softmax(scores / keys.shape[-1], dim=-1)
In total, the scores are divided by half the key size instead of its square root.
    return torch.softmax(scores / (keys.shape[-1] * 0.5), dim=-1)
In total, the scores are divided by twice the key size instead of its square root.
    return torch.softmax(scores / keys.shape[-1] / 2, dim=-1)
The scores are divided by the root of the size of the last axis of `scores`, not of the key size.
    return torch.softmax(scores / scores.shape[-1] ** 0.5, dim=-1)
The scale is applied after the softmax, so the weights of a query no longer sum to one.
    return torch.softmax(scores, dim=-1) / keys.shape[-1] ** 0.5
The softmax runs over the queries; it must run over the keys.
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-2)
The scores are used as weights; a softmax must first make them positive, with a sum of one.
    return scores / keys.shape[-1] ** 0.5
The softmax is taken twice, which makes the weights more equal.
    return torch.softmax(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1), dim=-1)
The divisor loses its axis, so broadcasting may align it with the wrong axis.
    return (lambda e: e / e.sum(dim=-1))((scores / keys.shape[-1] ** 0.5).exp())
""",
        id="scaled",
    ),
    pytest.param(
        WRITTEN_OUT,
        """
In one place, the scores themselves are used; their exponentials must be used.
    return scores / exponentials.sum(dim)
""",
        id="written-out",
    ),
    pytest.param(
        MIXED,
        """
The mean of the weighted tokens is taken; it must be their sum.
    return weights @ values / weights.shape[-1]
""",
        id="mixed",
    ),
)


@pytest.mark.parametrize(("code", "made"), MADE)
def test_a_step_has_its_mistakes(code: str, made: str):
    """Each mistake in a step has its sentence and its program."""
    assert as_made(made).items() <= made_by(scores, code).items()


def test_other_code_has_none():
    """A rule makes no mistake in code that it does not recognize."""
    assert made_by(scores, "def wanted(n: int):\n    pass\n") == {}
