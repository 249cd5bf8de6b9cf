"""Tests slips of Python: each has its sentence and its program."""

import pytest

from autograder.diagnosis.mistakes import slips
from tests.kit.diagnosis.conftest import Grader
from tests.kit.diagnosis.mistakes.conftest import as_made, made_by

LOOP = """
def wanted(x: Tensor, n: int):
    if n < 0:
        raise ValueError("negative")
    total = 0.0
    for row in x:
        total += row
    return total
"""
RANGE = """
def wanted(x: Tensor, n: int):
    for i in range(n):
        x[i] = i
    return x
"""
MODULE = """
class wanted:
    def __init__(self, n: int):
        if n < 0:
            raise ValueError("negative")
        self.layers = []
        for i in range(n):
            self.layers.append(i)
"""
MADE = (  # code; sentences about mistakes in it, each above the lines that differ in its program
    pytest.param(
        LOOP,
        """
The function returns inside a loop, so the loop ends in its first iteration.
    return total; pass
The first iteration is left out.
    for row in list(x)[1:]:
The last iteration is left out.
    for row in list(x)[:-1]:
""",
        id="loop",
    ),
    pytest.param(
        RANGE,
        """
The function returns inside a loop, so the loop ends in its first iteration.
    return x; pass
""",
        id="range",
    ),
    pytest.param(MODULE, "", id="constructor"),
)
ATTEND = """
def attend(queries, keys, values):
    if queries.shape[-1] != keys.shape[-1]:
        {} ValueError("sizes")
    scores = queries @ keys.T
    weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
    return {}
"""
CAUSAL = """
class Causal(Causal):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        future = torch.ones(x.shape[1], x.shape[1]).triu(1) == 1
        masked = (q @ k.mT).masked_fill(future, -torch.inf)
        return self.dropout(torch.softmax(masked / {}, dim=-1)) @ v
"""


@pytest.mark.parametrize(("code", "made"), MADE)
def test_a_slip_has_its_sentence_and_its_program(code: str, made: str):
    """Each slip has its sentence and its program, and no other slip fits the code."""
    assert made_by(slips, code) == as_made(made)


def test_other_code_has_none():
    """A rule makes no mistake in code that it does not recognize."""
    assert made_by(slips, "def wanted(n: int):\n    pass\n") == {}
    assert made_by(slips, "def wanted(n: int):\n    return n, n\n") == {}


@pytest.mark.parametrize(
    ("parts", "kind", "sentence"),
    [
        pytest.param(
            ("raise", "weights @ values,"), "tuple_for_result", "wrapped in a tuple", id="comma"
        ),
        pytest.param(
            ("raise", "[weights @ values]"), "tuple_for_result", "or a list", id="brackets"
        ),
        pytest.param(
            ("return", "weights @ values"), "exception_as_result", "must be raised", id="returned"
        ),
    ],
)
def test_a_slip_is_named(parts: tuple[str, str], kind: str, sentence: str, grader: Grader):
    """A slip in a student's code is named by its kind and sentence."""
    found = list(grader.diagnose("attend", ATTEND.format(*parts)).values())

    assert found
    assert {one.misconception for one in found} == {kind}
    assert all(sentence in one.explanation for one in found)


@pytest.mark.parametrize(
    ("divisor", "sentence"),
    [
        pytest.param("k.shape[-1]**1/2", "divided by twice the key size", id="no-brackets"),
        pytest.param("(k.shape[-1]**1/2)", "divided by half the key size", id="outside"),
    ],
)
def test_a_power_that_is_not_a_root_is_named(divisor: str, sentence: str, grader: Grader):
    """`d ** 1 / 2` is named, because Python takes the power first and then divides."""
    found = grader.diagnose("Causal", CAUSAL.format(divisor))["attends_to_the_past"]

    assert found.misconception == "scale_wrong_power"
    assert sentence in found.explanation
    assert "a power, or a division written after it?" in found.hint
