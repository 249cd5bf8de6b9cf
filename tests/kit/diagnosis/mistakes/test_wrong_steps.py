"""Tests steps that are missing, or that the exercise does not ask for."""

import pytest

from autograder.diagnosis.mistakes import wrong_steps
from tests.kit.diagnosis.conftest import Grader
from tests.kit.diagnosis.mistakes.conftest import as_made, made_by

COMPARED = """
def wanted(x: Tensor, size: int):
    T = x.shape[1]
    return x[:T, :size] @ x.T
"""
FUNCTION = """
def wanted(x: Tensor, lengths: list, dim: int):
    T = x.shape[1]
    lengths = torch.as_tensor(lengths)
    means = torch.zeros_like(x)
    means[0] = x.sum(dim=0, keepdim=True)
    scores = x.masked_fill(x == 0, -torch.inf)
    return torch.softmax(scores, dim=-1)
"""
MODULE = """
class wanted:
    def __init__(self, d: int, dim: int):
        super().__init__()
        self.dim = dim
        self.W_query = nn.Linear(d, d)
        self.register_buffer("mask", torch.ones(d))

    def forward(self, x: Tensor):
        with torch.no_grad():
            queries = self.W_query(x)
        return queries
"""
CAUSAL = """
class Causal(Causal):
    def forward(self, x):
        q = self.W_query(x)
        v = self.W_value(x)
        scores = q @ {} / 6**0.5
        future = torch.ones_like(scores).triu(1) == 1
        weights = torch.softmax(scores.masked_fill({})
        return self.dropout(weights) @ v
"""
FILL = "future, -torch.inf), dim=-1"
MADE = (  # code; sentences about mistakes in it, each above the lines that differ in its program
    pytest.param(
        COMPARED,
        """
A softmax is applied, but this exercise does not ask for it.
    return torch.softmax(x[:T, :size] @ x.T, dim=-1)
`size` has no effect.
    return x[:T, :2] @ x.T
The number of tokens is read from the first axis of `x`; it must be read from the second axis.
    T = x.shape[0]
""",
        id="compared",
    ),
    pytest.param(
        FUNCTION,
        """
The softmax is called without the axis along which it must run.
    return torch.softmax(scores)
The mask and the fill value are swapped.
    scores = x.masked_fill(-torch.inf, x == 0)
""",
        id="function",
    ),
    pytest.param(
        MODULE,
        """
Parameters are overwritten while torch records gradients, which torch does not allow.
    if True:
""",
        id="module",
    ),
)


@pytest.mark.parametrize(("code", "made"), MADE)
def test_a_step_has_its_mistakes(code: str, made: str):
    """Each mistake in a step has its sentence and its program."""
    assert as_made(made).items() <= made_by(wrong_steps, code).items()


def test_other_code_has_none():
    """A rule makes no mistake in code that it does not recognize."""
    assert made_by(wrong_steps, "def wanted(n: int):\n    pass\n") == {}


@pytest.mark.parametrize(
    ("step", "filled", "kind"),
    [
        pytest.param("k.mT", FILL, "name_not_defined", id="no-keys-under-another-name"),
        pytest.param("self.W_key(x).mT", "future, -torch.inf)", "axis_missing", id="no-axis"),
        pytest.param(
            "self.W_key(x).mT",
            "-torch.inf, future), dim=-1",
            "arguments_exchanged",
            id="swapped",
        ),
    ],
)
def test_an_exception_is_named_by_the_step_that_is_wrong(
    step: str, filled: str, kind: str, grader: Grader
):
    """An exception is named by the wrong step, even if the student uses other names."""
    assert grader.kinds("Causal", CAUSAL.format(step, filled)) == {kind}
