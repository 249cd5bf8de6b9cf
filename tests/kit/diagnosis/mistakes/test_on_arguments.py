"""Mistakes in arguments."""

import pytest

from autograder.diagnosis.mistakes import on_arguments
from tests.kit.diagnosis.mistakes.conftest import kinds_of

HEADS = """
class wanted:
    def __init__(self, d: int, dropout: float, heads: int = 1):
        super().__init__()
        self.heads = nn.ModuleList([Head(d, dropout) for _ in range(heads)])
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            "def wanted(x: Tensor, kind: str = 'rand'):\n    return head(x, kind) if kind else x\n",
            {"argument_ignored", "default_changed", "check_wrong"},
            id="case",
        ),
        pytest.param(HEADS, {"argument_ignored", "default_changed"}, id="handed-on"),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(on_arguments, code)


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(on_arguments, "def wanted(n: int):\n    pass\n") == set()
