"""Mistakes in dropout."""

import pytest

from autograder.diagnosis.mistakes import on_dropout
from tests.kit.diagnosis.mistakes.conftest import kinds_of

C = """
class wanted:
    def __init__(self, dropout: float):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor):
        keys = self.W_key(x)
        return self.dropout(torch.softmax(keys, dim=-1))
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            C,
            {"dropout_missing", "dropout_always", "dropout_misplaced", "dropout_not_rescaled"},
            id="dropout",
        ),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(on_dropout, code)


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(on_dropout, "def wanted(n: int):\n    pass\n") == set()
