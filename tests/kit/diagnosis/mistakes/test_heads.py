"""Mistakes in axes and heads."""

import pytest

from autograder.diagnosis.mistakes import heads
from tests.kit.diagnosis.mistakes.conftest import kinds_of, sentences_of

F = "def wanted(x: Tensor):\n"
SPLIT = """
def wanted(x: Tensor):
    queries = x.view(1, 2, 3, 4).transpose(1, 2)
    keys = queries
    return keys.reshape(1, 2, 3 * 4)
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(SPLIT, {"transposed", "reshaped", "heads_mixed"}, id="split"),
        pytest.param(
            F + "    return torch.cat([x, x], dim=-1)\n",
            {"concat_axis", "heads_mixed", "heads_repeated"},
            id="heads",
        ),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(heads, code)


def test_axes_are_said_by_their_places():
    """Which two axes must be exchanged is seen in the solution."""
    said = sentences_of(heads, SPLIT)

    assert "The second and the third axis are not exchanged although they must be." in said
    assert "The queries are not split into heads." in said


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(heads, "def wanted(n: int):\n    pass\n") == set()
