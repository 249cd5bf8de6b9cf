"""Steps that are left out, so that the code ends in an exception."""

import pytest

from autograder.diagnosis.mistakes import on_missing
from tests.kit.diagnosis.mistakes.conftest import kinds_of, sentences_of
from tests.kit.diagnosis.operators.conftest import Grader

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


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            FUNCTION,
            {"value_missing", "axis_missing", "arguments_exchanged", "step_missing"},
            id="function",
        ),
        pytest.param(
            MODULE,
            {"value_missing", "not_stored", "arguments_exchanged", "step_missing", "in_place"},
            id="module",
        ),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(on_missing, code)


def test_a_value_is_called_by_what_it_is():
    """Names of the solution are not in the sentences, but for those of arguments."""
    said = " ".join(sentences_of(on_missing, FUNCTION))

    assert "The scores do not exist where they are used" in said
    assert "A size of `x` does not exist where it is used" in said
    assert "means" not in said


@pytest.mark.parametrize(
    ("step", "filled", "kind"),
    [
        pytest.param("k.mT", FILL, "value_missing", id="no-keys-under-another-name"),
        pytest.param("self.W_key(x).mT", "future, -torch.inf)", "axis_missing", id="no-axis"),
        pytest.param(
            "self.W_key(x).mT",
            "-torch.inf, future), dim=-1",
            "arguments_exchanged",
            id="exchanged",
        ),
    ],
)
def test_an_exception_is_named_by_the_step_that_is_wrong(
    step: str, filled: str, kind: str, grader: Grader
):
    """Students choose other names for quantities than the solution does."""
    assert grader.kinds("Causal", CAUSAL.format(step, filled)) == {kind}


def test_a_name_that_says_nothing_has_no_kind(grader: Grader):
    """Another quantity may be missing than the one that the solution lacks."""
    assert grader.kinds("Causal", CAUSAL.format("y.mT", FILL)) == {"name_not_defined"}


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(on_missing, "def wanted(n: int):\n    pass\n") == set()
