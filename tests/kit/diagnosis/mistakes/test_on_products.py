"""Mistakes in matrix products."""

import pytest

from autograder.diagnosis.mistakes import on_products
from tests.kit.diagnosis.mistakes.conftest import kinds_of

PRODUCTS = """
def wanted(x: Tensor):
    queries, keys, values = x, x, x
    scores = queries @ keys.T
    weights = scores
    return weights @ values
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            PRODUCTS, {"transposed", "operand_repeated", "wrong_reduction"}, id="products"
        ),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(on_products, code)


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(on_products, "def wanted(n: int):\n    pass\n") == set()
