"""The words for quantities."""

import ast

import pytest

from autograder.diagnosis.operators.vocabulary import (
    alternatives,
    role_of,
)


@pytest.mark.parametrize(
    ("code", "role"),
    [
        ("queries", "queries"),
        ("self.W_k", "keys"),
        ("self.W_value(x)", "values"),
        ("queries @ keys.T", "scores"),
        ("x @ W_query", "queries"),
        ("torch.softmax(scores, dim=-1)", "weights"),
        ("weights @ values", "context vectors"),
        ("keys.transpose(-2, -1)", "keys"),
        ("self.mask[:T, :T]", "mask"),
        ("anything", ""),
    ],
)
def test_a_quantity_is_known_by_its_name(code: str, role: str):
    """Names that texts about attention use say what a quantity is."""
    assert role_of(ast.parse(code, mode="eval").body) == role


@pytest.mark.parametrize(
    ("texts", "joined"),
    [
        (["A."], "A."),
        (["A.", "A."], "A."),
        (["A.", "B."], "Either: A. Or: B."),
    ],
)
def test_alternatives_are_said_once(texts: list[str], joined: str):
    """Two mistakes with one sentence need no alternative."""
    assert alternatives(texts, " ", more=False) == joined


def test_further_alternatives_are_mentioned():
    """A reader knows that there are more."""
    assert alternatives(["A.", "B."], " ", more=True).endswith(
        "something else that shows the same."
    )
