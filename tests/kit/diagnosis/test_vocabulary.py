"""Tests the words for quantities."""

import ast

import pytest

from autograder.diagnosis.vocabulary import (
    alternatives,
    axis_of,
    counted,
    other_axes,
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
    """A quantity is recognized by the names that texts about attention use."""
    assert role_of(ast.parse(code, mode="eval").body) == role


@pytest.mark.parametrize(
    ("code", "said"),
    [("1", "the second axis"), ("-1", "the last axis"), ("self.col_dim", "`col_dim`")],
)
def test_an_axis_is_known_by_its_number_or_its_argument(code: str, said: str):
    """An axis is recognized by its number from either end, or by its argument."""
    assert axis_of(ast.parse(code, mode="eval").body) == said


def test_an_axis_is_none_of_the_others():
    """The wrong axes do not include the axis of the solution."""
    assert other_axes(ast.Constant(1), (0, 1, -1)) == [0, -1]


@pytest.mark.parametrize(
    ("code", "said"),
    [("T", "tokens"), ("self.num_heads", "heads"), ("D // H", "features of a head"), ("n", "")],
)
def test_a_size_is_known_by_its_name(code: str, said: str):
    """A size is recognized by the letter that texts about attention use."""
    assert counted(ast.parse(code, mode="eval").body) == said


@pytest.mark.parametrize(
    ("sentences", "joined"),
    [
        (["A."], "A."),
        (["A.", "A."], "A."),
        (["A.", "B."], "Either: A. Or: B."),
    ],
)
def test_alternatives_are_said_once(sentences: list[str], joined: str):
    """Two mistakes with the same sentence are not listed as alternatives."""
    assert alternatives(sentences, more=False) == joined


def test_further_alternatives_are_mentioned():
    """A list of alternatives that is not complete ends with a note."""
    assert alternatives(["A.", "B."], more=True).endswith(
        "Or: a different mistake with the same result."
    )
