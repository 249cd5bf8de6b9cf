"""Steps that the exercise does not ask for."""

import pytest

from autograder.diagnosis.mistakes import wrong_steps
from tests.kit.diagnosis.mistakes.conftest import kinds_of

SOFTMAX = """
def wanted(scores: Tensor, weights: Tensor, dim: int):
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim)
"""
MIXED = """
def wanted(weights: Tensor, values: Tensor):
    return weights @ values
"""
COMPARED = """
def wanted(x: Tensor, size: int):
    T = x.shape[1]
    return torch.softmax(x @ x.T, dim=-1)[:T, :size]
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            SOFTMAX,
            {"softmax_missing", "sign_reversed", "softmax_extra", "argument_ignored", "rounded"},
            id="written-out",
        ),
        pytest.param(
            MIXED, {"weights_equal", "softmax_twice", "sum_extra", "length_extra"}, id="mixed"
        ),
        pytest.param(
            COMPARED,
            {
                "length_extra",
                "size_fixed",
                "size_of_another_axis",
                "sign_reversed",
                "weights_equal",
            },
            id="compared",
        ),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(wrong_steps, code)


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(wrong_steps, "def wanted(n: int):\n    pass\n") == set()
