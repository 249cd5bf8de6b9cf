"""Mistakes in the scale of the scores."""

import pytest

from autograder.diagnosis.mistakes import scores
from tests.kit.diagnosis.mistakes.conftest import kinds_of

F = "def wanted(scores: Tensor, keys: Tensor):\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            F + "    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)\n",
            {"scale_missing", "scale_wrong_power", "scale_wrong_size", "scale_misplaced"},
            id="scale",
        ),
        pytest.param(
            F + "    return torch.softmax(scores, dim=-1)\n", {"scale_extra"}, id="needless-scale"
        ),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(scores, code)


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(scores, "def wanted(n: int):\n    pass\n") == set()
