"""Mistakes in what a step works on."""

import pytest

from autograder.diagnosis.operators import on_operands
from tests.kit.diagnosis.operators.conftest import kinds_of

F = "def wanted(x: Tensor):\n"
C = """
class wanted:
    def forward(self, x: Tensor):
        queries = self.W_query(x)
        keys = self.W_key(x)
        return self.out_proj(queries @ keys.T)
"""
PRODUCTS = """
def wanted(x: Tensor):
    queries, keys, values = x, x, x
    scores = queries @ keys.T
    weights = scores
    return weights @ values
"""
SPLIT = """
def wanted(x: Tensor):
    queries = x.view(1, 2, 3, 4).transpose(1, 2)
    keys = queries
    return keys.reshape(1, 2, 3 * 4)
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            PRODUCTS,
            {
                "transposed",
                "reshaped",
                "operand_repeated",
                "wrong_reduction",
                "wrong_return",
                "dtype",
                "detached",
                "batch_mixed",
            },
            id="products",
        ),
        pytest.param(
            F + "    return torch.cat([x, x], dim=-1)\n",
            {"concat_axis", "heads_mixed", "heads_repeated"},
            id="heads",
        ),
        pytest.param(
            SPLIT,
            {"reshaped", "heads_mixed", "projection_exchanged", "projection_missing"},
            id="split",
        ),
        pytest.param(F + "    return x < 3\n", {"mask_inverted"}, id="booleans"),
        pytest.param(
            C, {"projection_exchanged", "projection_missing", "layer_unused"}, id="layers"
        ),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(on_operands, code)


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(on_operands, "def wanted(n: int):\n    pass\n") == set()
