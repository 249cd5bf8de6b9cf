"""Mistakes in the softmax."""

import pytest

from autograder.diagnosis.mistakes import on_softmax
from tests.kit.diagnosis.mistakes.conftest import kinds_of

F = "def wanted(scores: Tensor, keys: Tensor):\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            F + "    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)\n",
            {"softmax_axis", "softmax_missing", "softmax_twice"},
            id="softmax",
        ),
        pytest.param(
            F + "    shifted = scores - scores.amax(dim=-1)\n    return shifted.exp()\n",
            {"softmax_unstable"},
            id="stable",
        ),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(on_softmax, code)


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(on_softmax, "def wanted(n: int):\n    pass\n") == set()
