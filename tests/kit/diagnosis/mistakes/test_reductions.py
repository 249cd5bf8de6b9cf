"""Mistakes in sums, means and operations."""

import pytest

from autograder.diagnosis.mistakes import reductions
from tests.kit.diagnosis.mistakes.conftest import kinds_of, sentences_of

F = "def wanted(x: Tensor, n: int):\n"
LOOP = """
def wanted(x: Tensor, n: int):
    total = 0.0
    for i in range(n):
        total += x[: i + 1]
    return total * x
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            F + "    return x / x.sum(dim=-1, keepdim=True)\n", {"wrong_divisor"}, id="division"
        ),
        pytest.param(
            F + "    return x.mean(dim=0)\n", {"wrong_axis", "wrong_reduction"}, id="mean"
        ),
        pytest.param(LOOP, {"wrong_reduction", "wrong_operation"}, id="loop"),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(reductions, code)


def test_an_axis_is_said_by_its_place():
    """The axis that is right is no mistake."""
    said = sentences_of(reductions, F + "    return x.mean(dim=0)\n")

    assert "The mean is taken along the last axis, not along the first axis." in said
    assert "The mean is taken along the first axis, not along the first axis." not in said


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(reductions, "def wanted(n: int):\n    pass\n") == set()
