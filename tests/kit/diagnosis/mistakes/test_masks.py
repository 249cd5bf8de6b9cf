"""Mistakes in masks."""

import pytest

from autograder.diagnosis.mistakes import masks
from tests.kit.diagnosis.mistakes.conftest import kinds_of

F = "def wanted(scores: Tensor, keys: Tensor):\n"
MASKED = """
def wanted(scores: Tensor, keys: Tensor):
    hidden = torch.ones(3, 3).triu(1) == 1
    masked = scores.masked_fill(hidden, float("-inf"))
    return torch.softmax(masked, dim=-1)
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            MASKED,
            {
                "mask_missing",
                "mask_inverted",
                "mask_fill",
                "mask_axis",
                "mask_shifted",
                "mask_after_softmax",
                "in_place",
            },
            id="mask",
        ),
        pytest.param(
            F + "    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)\n",
            {"mask_extra"},
            id="needless-mask",
        ),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(masks, code)


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(masks, "def wanted(n: int):\n    pass\n") == set()
