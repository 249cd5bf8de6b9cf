"""Tests mistakes in queries, keys and values, and in their products."""

import pytest

from autograder.diagnosis.mistakes import projections
from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from tests.kit.diagnosis.mistakes.conftest import as_made, made_by

BRANCHES = """
class wanted:
    def forward(self, x: Tensor):
        if self.norm_first:
            x = self.att(self.norm1(x))
            return self.ff(self.norm2(x))
        return self.norm2(self.norm1(x))
"""
PRODUCTS = """
def wanted(x: Tensor):
    queries, keys, values = x, x, x
    scores = queries @ keys.T
    weights = scores
    return weights @ values
"""
NAMES = """
def wanted(x: Tensor):
    queries = x.view(1, 2, 3, 4).transpose(1, 2)
    keys = queries
    return keys.reshape(1, 2, 3 * 4)
"""
LAYERS = """
class wanted:
    def forward(self, x: Tensor):
        queries = self.W_query(x)
        keys = self.W_key(x)
        return self.out_proj(queries @ keys.T)
"""
BIASED = """
class wanted:
    def __init__(self, d: int, bias: bool):
        self.inner = nn.Linear(d, d, bias=bias)
        self.outer = nn.Linear(d, d)
        self.plain = nn.Linear(d, d, bias=False)
    def forward(self, x: Tensor):
        return self.plain(self.outer(self.inner(x)))
"""
ATTENDED = """
def wanted(queries: Tensor, keys: Tensor, values: Tensor):
    return torch.softmax(queries @ keys.T, dim=-1) @ values
"""
CALLED = """
def wanted(x: Tensor, y: Tensor, rows: int, columns: int):
    return made(x, rows, columns) + y
"""
MADE = (  # code; sentences about mistakes in it, each above the lines that differ in its program
    pytest.param(
        PRODUCTS,
        """
The queries are compared with themselves.
    scores = queries @ queries.transpose(-2, -1)
Features are compared with features; tokens must be compared with tokens.
    scores = keys.T @ queries
The queries are not multiplied by the keys: the product is missing.
    scores = queries
""",
        id="products",
    ),
    pytest.param(
        NAMES,
        """
The keys are used as queries.
    keys = keys
`x` is used directly as the queries, without a projection.
    keys = x
""",
        id="names",
    ),
    pytest.param(
        LAYERS,
        """
The queries and the keys are swapped: row i of the scores belongs to key i.
    queries = self.W_key(x); keys = self.W_query(x)
The inputs are used directly as the queries, so `W_query` has no effect.
    queries = x
`out_proj` has no effect: its input is used in place of its result.
    return queries @ keys.T
""",
        id="layers",
    ),
    pytest.param(
        BIASED,
        """
The bias of `outer` is not added.
    return self.plain(self.inner(x) @ self.outer.weight.T)
The biases of the linear layers are not added.
    return self.plain(x @ self.inner.weight.T @ self.outer.weight.T)
""",
        id="written-out",
    ),
    pytest.param(
        ATTENDED,
        """
The queries and the keys are swapped: row i of the scores belongs to key i.
    return torch.softmax(keys @ queries.T, dim=-1) @ values
Only `queries` has an effect: it is also used in place of `keys` and `values`.
    return torch.softmax(queries @ queries.T, dim=-1) @ queries
""",
        id="attended",
    ),
    pytest.param(
        CALLED,
        """
`x` and `rows` are passed in the wrong order.
    return made(rows, x, columns) + y
""",
        id="called",
    ),
)


@pytest.mark.parametrize(("code", "made"), MADE)
def test_a_step_has_its_mistakes(code: str, made: str):
    """Each mistake in a step has its sentence and its program."""
    assert as_made(made).items() <= made_by(projections, code).items()


def test_other_code_has_none():
    """A rule makes no mistake in code that it does not recognize."""
    assert made_by(projections, "def wanted(n: int):\n    pass\n") == {}


def test_a_matrix_of_no_projection_has_no_role():
    """A matrix that belongs to no quantity is not swapped for another one."""
    code = "def wanted(x: Tensor, W_query: Tensor, W_out: Tensor):\n    return x @ W_query @ W_out"

    made = made_by(projections, code)

    assert made
    assert "return x @ W_query @ W_query" not in made.values()


def test_numbered_layers_are_swapped_in_one_branch_or_in_all():
    """Two norms may be swapped where a condition holds, where it does not, and everywhere."""
    texts = [
        code.text([rewrite])
        for code in [ExerciseCode(BRANCHES, "wanted", ["wanted"])]
        for scope in code.scopes
        for rewrite in projections.layers(scope)
        if rewrite.explanation == "`norm1` and `norm2` are swapped."
    ]

    swapped = ["self.att(self.norm2(x))", "self.norm1(self.norm2(x))"]
    assert [[one in text for one in swapped] for text in texts] == [
        [True, True],
        [True, False],
        [False, True],
    ]
