"""The words for quantities and kinds of mistake."""

import ast

import pytest

from autograder.diagnosis.operators.vocabulary import (
    KINDS,
    alternatives,
    require_known,
    role_of,
    wording,
)
from autograder.errors import CourseError


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


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_sentence_and_a_question(kind: str):
    """No sentence holds code: it says what shows, and never what to type."""
    words = KINDS[kind]

    assert words.explanation.endswith(".")
    assert words.question.endswith("?")
    assert not set("()[]@=*") & set(words.explanation + words.question)


def test_a_stage_rewords_a_kind():
    """The words of the stage replace those of the course; None silences the kind."""
    words = {"dtype": None, "scale_missing": ("Not scaled.", "By what?")}

    assert wording("dtype", words) is None
    assert wording("scale_missing", words) == ("Not scaled.", "By what?")
    assert wording("softmax_axis", words) == KINDS["softmax_axis"]


def test_an_unknown_kind_is_refused():
    """A typing error would silence nothing."""
    with pytest.raises(CourseError, match="scale_mising"):
        require_known({"scale_mising": None})


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
