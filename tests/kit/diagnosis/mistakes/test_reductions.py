"""Tests mistakes in sums, means and operations."""

import pytest

from autograder.diagnosis.mistakes import reductions
from tests.kit.diagnosis.mistakes.conftest import as_made, made_by

DIVIDED = """
def wanted(x: Tensor):
    return x / x.sum(dim=-1, keepdim=True)
"""
MEAN = """
def wanted(x: Tensor):
    return x.mean(dim=0)
"""
LOOP = """
def wanted(x: Tensor, n: int):
    total = 0.0
    for i in range(n):
        total += x[: i + 1]
    return total * x
"""
WARMED = """
def wanted(x: Tensor, temperature: float):
    return x / temperature
"""
MADE = (  # code; sentences about mistakes in it, each above the lines that differ in its program
    pytest.param(
        DIVIDED,
        """
The divisor is taken along the first axis; it must be taken along the last axis.
    return x / x.sum(dim=0, keepdim=True)
The entries are not divided by their own sum.
    return x
""",
        id="divided",
    ),
    pytest.param(
        WARMED,
        """
A division by `temperature` is missing.
    return x
A number is multiplied by `temperature`; it must be divided by it.
    return x * temperature
""",
        id="argument",
    ),
    pytest.param(
        MEAN,
        """
The mean is taken along the second axis; it must be taken along the first axis.
    return x.mean(dim=1)
The mean is missing.
    return x
A sum is used; it must be a mean.
    return x.sum(dim=0)
""",
        id="mean",
    ),
    pytest.param(
        LOOP,
        """
In one place, a sum is computed; it must be a product.
    return total + x
Only the last term is kept; the terms must be added up.
    total = x[:i + 1]
""",
        id="loop",
    ),
)


@pytest.mark.parametrize(("code", "made"), MADE)
def test_a_step_has_its_mistakes(code: str, made: str):
    """Each mistake in a step has its sentence and its program."""
    assert as_made(made).items() <= made_by(reductions, code).items()


def test_other_code_has_none():
    """A rule makes no mistake in code that it does not recognize."""
    assert made_by(reductions, "def wanted(n: int):\n    pass\n") == {}


def test_the_axis_that_is_right_is_not_a_mistake():
    """The axis of the solution is not tried as a mistake."""
    assert (
        "The mean is taken along the first axis; it must be taken along the first axis."
        not in made_by(reductions, MEAN)
    )
