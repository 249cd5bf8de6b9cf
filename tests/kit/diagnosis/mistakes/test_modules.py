"""Mistakes in what a constructor makes."""

import pytest

from autograder.diagnosis.mistakes import modules
from tests.kit.diagnosis.mistakes.conftest import kinds_of

C = """
class wanted:
    def __init__(self, d: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d, d, bias=qkv_bias)
        self.W_key = nn.Linear(d, d, bias=qkv_bias)
        self.out_proj = nn.Linear(d, d)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(d))

    def forward(self, x: Tensor):
        keys = self.W_key(x)
        return self.dropout(torch.softmax(keys, dim=-1))
"""
H = """
class wanted:
    def __init__(self, d: int, dropout: float, heads: int = 1):
        super().__init__()
        self.heads = nn.ModuleList([Head(d, dropout) for _ in range(heads)])
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            C,
            {
                "creation_order",
                "parameter_kind",
                "bias_wrong",
                "wrong_size",
                "seeded_inside",
            },
            id="layers",
        ),
        pytest.param(
            "def wanted(d: int):\n    W = torch.nn.Parameter(torch.rand(d, d))\n    return W\n",
            {"distribution", "parameter_kind", "seeded_inside"},
            id="draws",
        ),
        pytest.param(H, {"heads_repeated", "parameter_kind"}, id="heads"),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(modules, code)


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(modules, "def wanted(n: int):\n    pass\n") == set()
