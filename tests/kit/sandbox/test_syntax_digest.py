"""Tests digests of sources, which ignore names, comments and docstrings."""

import ast
from textwrap import dedent

import pytest

from autograder.sandbox.syntax_digest import syntax_digest

ATTENTION = '''
import torch
from torch import nn


class Attention(nn.Module):
    """Attend."""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out)

    def forward(self, x):
        # the scores
        scores = self.W_query(x) @ x.T
        return torch.softmax(scores, dim=-1)
'''


def digest(*sources: str) -> str:
    """The digest of *sources*, each a cell."""
    return syntax_digest([ast.parse(dedent(source)) for source in sources])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("scores", "points", id="a-variable"),
        pytest.param("W_query", "wq", id="an-attribute"),
        pytest.param("class Attention", "class Mine", id="a-class"),
        pytest.param("d_in", "size", id="a-parameter"),
        pytest.param('"""Attend."""', '"""Something else."""', id="a-docstring"),
        pytest.param('    """Attend."""\n', "", id="no-docstring"),
        pytest.param("# the scores", "", id="a-comment"),
        pytest.param(
            "(scores, dim=-1)", "(\n            scores,\n            dim=-1)", id="layout"
        ),
        pytest.param("import torch\n", "import torch as t\n", id="an-alias"),
    ],
)
def test_names_comments_and_layout_do_not_count(old: str, new: str):
    """Changed names, comments and layout keep the digest."""
    changed = ATTENTION.replace(old, new)
    if "as t" in new:
        changed = changed.replace("torch.softmax", "t.softmax")

    assert changed != ATTENTION
    assert digest(changed) == digest(ATTENTION)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("torch.softmax", "torch.sigmoid", id="a-function-of-torch"),
        pytest.param("dim=-1", "dim=0", id="a-number"),
        pytest.param("dim=-1", "axis=-1", id="an-argument-of-torch"),
        pytest.param("@", "*", id="an-operator"),
        pytest.param("x.T", "x.mT", id="an-attribute-of-torch"),
        pytest.param("self.W_query(x) @ x.T", "x @ self.W_query(x).T", id="an-order"),
        pytest.param("nn.Linear(d_in, d_out)", "nn.Linear(d_out, d_in)", id="two-names-swapped"),
        pytest.param("import torch\n", "import numpy as torch\n", id="another-module"),
        pytest.param("-1", '"-1"', id="a-type"),
    ],
)
def test_what_the_code_computes_counts(old: str, new: str):
    """A changed computation changes the digest."""
    assert digest(ATTENTION.replace(old, new)) != digest(ATTENTION)


def test_cells_are_one_source():
    """A notebook and a module of the same statements have one digest."""
    assert digest("def f(a): return a", "x = f(1)") == digest("def g(b): return b\ny = g(1)")


@pytest.mark.parametrize(
    "trees",
    [
        pytest.param([], id="nothing"),
        pytest.param([ast.parse("x = 1"), None], id="a-cell-that-is-not-python"),
        pytest.param([ast.parse('"""Only text."""')], id="only-text"),
    ],
)
def test_what_cannot_be_compared_has_no_digest(trees: list):
    """A source that cannot be compared has no digest."""
    assert syntax_digest(trees) == ""


def test_every_python_gives_the_same_digest():
    """An empty syntax field of a later Python does not change the digest."""
    tree = ast.parse("def f(x): return x[1:], x[:1]")
    before = syntax_digest([tree])
    tree.body[0]._fields = (*tree.body[0]._fields, "something_new")
    tree.body[0].something_new = []

    assert syntax_digest([tree]) == before
    assert before == "802154b2f0657729f4678a1a4f5683c90ad6a3b4e5141bdcece801f8fbced7db"


def test_where_nothing_is_given_counts():
    """`x[1:]` and `x[:1]` have different digests."""
    assert digest("x[1:]") != digest("x[:1]")


def test_a_deep_tree_has_a_digest():
    """A sum of thousands of numbers has a digest."""
    assert len(digest("x = " + " + ".join(["1"] * 900))) == 64
