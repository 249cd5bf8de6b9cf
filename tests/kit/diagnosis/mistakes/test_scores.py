"""Mistakes in the scores and the softmax."""

import pytest

from autograder.diagnosis.mistakes import scores
from tests.kit.diagnosis.mistakes.conftest import as_made, made_by

SCALED = """
def wanted(scores: Tensor, keys: Tensor):
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
"""
PLAIN = """
def wanted(scores: Tensor, keys: Tensor):
    return torch.softmax(scores, dim=-1)
"""
STABLE = """
def wanted(scores: Tensor):
    return torch.exp(scores - scores.amax(dim=-1))
"""
NORMALIZED = """
def wanted(scores: Tensor, dim: int):
    exponentials = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)
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
All in all the scores are divided by the size of a key, not by its square root.
    return torch.softmax(scores / keys.shape[-1], dim=-1)
All in all the scores are divided by half the size of a key, not by its square root.
    return torch.softmax(scores / (keys.shape[-1] * 0.5), dim=-1)
All in all the scores are divided by twice the size of a key, not by its square root.
    return torch.softmax(scores / keys.shape[-1] / 2, dim=-1)
The scores are divided by the square root of the size of the last axis of `scores`.
    return torch.softmax(scores / scores.shape[-1] ** 0.5, dim=-1)
The scale comes after the softmax, so the weights of a query no longer sum to one.
    return torch.softmax(scores, dim=-1) / keys.shape[-1] ** 0.5
The softmax runs over the queries, not over the keys: each column sums to one.
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-2)
The scores are used as weights: no softmax makes them positive and sum to one.
    return scores / keys.shape[-1] ** 0.5
The softmax is taken twice, which makes the weights more alike.
    return torch.softmax(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1), dim=-1)
The divisor loses its axis, so broadcasting lines it up with another one.
    return (lambda e: e / e.sum(dim=-1))(torch.exp(scores / keys.shape[-1] ** 0.5))
The scores have the opposite sign: the least similar token gets the largest weight.
    return torch.softmax(-(scores / keys.shape[-1] ** 0.5), dim=-1)
""",
        id="scaled",
    ),
    pytest.param(
        PLAIN,
        """
The scores are scaled, which this exercise does not ask for.
    return torch.softmax(scores / scores.shape[-1] ** 0.5, dim=-1)
""",
        id="plain",
    ),
    pytest.param(
        STABLE,
        """
Nothing is subtracted before the exponential, so that large scores overflow.
    return torch.exp(scores)
Powers of two stand where exponentials must be.
    return 2 ** (scores - scores.amax(dim=-1))
""",
        id="stable",
    ),
    pytest.param(
        NORMALIZED,
        """
The divisor loses its axis, so broadcasting lines it up with another one.
    exponentials = torch.exp(scores - scores.max()); return exponentials / exponentials.sum(dim=dim)
""",
        id="normalized",
    ),
    pytest.param(
        WRITTEN_OUT,
        """
Powers of two stand where exponentials must be.
    exponentials = 2 ** scores
Nothing takes the exponentials of the scores.
    exponentials = scores
The scores stand in one place where their exponentials must be.
    return scores / exponentials.sum(dim)
""",
        id="written-out",
    ),
    pytest.param(
        MIXED,
        """
The mean of the weighted tokens is taken instead of their sum.
    return weights @ values / weights.shape[-1]
The weights get a second softmax.
    return torch.softmax(weights, dim=-1) @ values
All weights of a query are equal, whatever its scores are.
    return torch.full_like(weights, 1 / weights.shape[-1]) @ values
""",
        id="mixed",
    ),
)


@pytest.mark.parametrize(("code", "made"), MADE)
def test_a_step_has_its_mistakes(code: str, made: str):
    """Each has its sentence and its program."""
    assert as_made(made).items() <= made_by(scores, code).items()


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert made_by(scores, "def wanted(n: int):\n    pass\n") == {}
