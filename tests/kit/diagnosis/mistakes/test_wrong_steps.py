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
ATTEND = """
def attend(queries, keys, values):
    if queries.shape[-1] != keys.shape[-1]:
        {} ValueError("sizes")
    scores = queries @ keys.T
    weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
    return {}
"""
DIVIDED = """
class Causal(Causal):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        future = torch.ones(x.shape[1], x.shape[1]).triu(1) == 1
        masked = (q @ k.mT).masked_fill(future, -torch.inf)
        return self.dropout(torch.softmax(masked / {}, dim=-1)) @ v
"""
SUMMED = """
class wanted:
    def forward(self, ids: Tensor):
        x = self.tok(ids) + self.pos(ids)
        for block in self.blocks:
            x = block(x)
        hidden = self.activation(self.first(x))
        return self.second(hidden)
"""
FILL = "future, -torch.inf), dim=-1"
MADE = (  # code; sentences about mistakes in it, each above the lines that differ in its program
    pytest.param(
        COMPARED,
        """
A softmax is applied, but this exercise does not ask for it.
    return torch.softmax(x[:T, :size] @ x.T, dim=-1)
`size` has no effect on any result.
    return x[:T, :2] @ x.T
The number of tokens is read from the first axis; it must be read from the second axis.
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
    pytest.param(
        SUMMED,
        """
A term is added after a loop; it must be added before it.
    x = self.tok(ids); if True:; for block in self.blocks:; x = block(x); x = x + self.pos(ids)
`first` gets the result of `activation`; it must be the reverse.
    hidden = self.first(self.activation(x))
`activation` gets the result of `second`; it must be the reverse.
    hidden = self.first(x); return self.activation(self.second(hidden))
""",
        id="sum-and-calls",
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


@pytest.mark.parametrize(
    ("parts", "kind", "sentence"),
    [
        pytest.param(
            ("raise", "weights @ values,"), "tuple_for_result", "wrapped in a tuple", id="comma"
        ),
        pytest.param(
            ("raise", "[weights @ values]"), "tuple_for_result", "or a list", id="brackets"
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
    found = grader.diagnose("Causal", DIVIDED.format(divisor))["attends_to_the_past"]

    assert found.misconception == "scale_wrong_power"
    assert sentence in found.explanation
    assert "for a key of 16 features" in found.hint
