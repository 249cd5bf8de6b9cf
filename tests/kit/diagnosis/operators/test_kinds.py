"""The words for kinds of mistake."""

import pytest

from autograder.diagnosis.operators.kinds import KINDS, require_known, wording
from autograder.errors import CourseError


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
