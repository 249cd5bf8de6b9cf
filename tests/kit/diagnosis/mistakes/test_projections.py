"""Mistakes in queries, keys and values."""

import pytest

from autograder.diagnosis.mistakes import projections
from tests.kit.diagnosis.mistakes.conftest import kinds_of, sentences_of

SPLIT = """
def wanted(x: Tensor):
    queries = x.view(1, 2, 3, 4).transpose(1, 2)
    keys = queries
    return keys.reshape(1, 2, 3 * 4)
"""
LAYERS = """
class wanted:
    def forward(self, x: Tensor):
        queries = self.W_query(x)
        keys = self.W_key(x)
        return self.out_proj(queries @ keys.T)
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(SPLIT, {"projection_exchanged", "projection_missing"}, id="names"),
        pytest.param(
            LAYERS, {"projection_exchanged", "projection_missing", "layer_unused"}, id="layers"
        ),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(projections, code)


def test_one_layer_makes_two_quantities_of_different_inputs():
    """Of one input, one quantity is used for another."""
    code = LAYERS.replace("x: Tensor", "x: Tensor, y: Tensor").replace("W_key(x)", "W_key(y)")
    sentence = "`W_key` makes the queries as well: `W_query` has no effect."

    assert sentence in sentences_of(projections, code)
    assert sentence not in sentences_of(projections, LAYERS)


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(projections, "def wanted(n: int):\n    pass\n") == set()
