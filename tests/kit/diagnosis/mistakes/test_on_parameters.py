"""Mistakes in one parameter of several."""

import pytest

from autograder.diagnosis.mistakes import on_parameters
from tests.kit.diagnosis.mistakes.conftest import kinds_of

DRAWN = """
class wanted:
    def __init__(self, a: int, b: int):
        super().__init__()
        self.W_q = nn.Parameter(torch.rand(a, b))
        self.W_k = nn.Parameter(torch.rand(a, b))
        self.register_buffer("mask", None)
"""
LAYERS = """
class wanted:
    def __init__(self, a: int, b: int):
        super().__init__()
        self.W_q = nn.Linear(a, b)
        self.W_k = nn.Linear(a, b)

    def forward(self, x: Tensor):
        return self.W_q(x) @ self.W_k(x).T
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            DRAWN,
            {
                "parameter_missing",
                "distribution",
                "wrong_size",
                "draw_transposed",
                "draw_at_once",
                "parameter_kind",
            },
            id="drawn",
        ),
        pytest.param(
            LAYERS,
            {"parameter_missing", "wrong_size", "parameter_kind", "stored_weight", "bias_wrong"},
            id="layers",
        ),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(on_parameters, code)


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(on_parameters, "def wanted(n: int):\n    pass\n") == set()
