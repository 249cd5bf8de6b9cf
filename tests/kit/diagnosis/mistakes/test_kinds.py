"""Tests the words for kinds of mistake."""

import ast
import re
from pathlib import Path
from string import Formatter

import msgspec
import pytest

from autograder.diagnosis.mistakes import kinds
from autograder.diagnosis.mistakes.kinds import (
    KINDS,
    KindOfMistake,
    require_known,
    wording,
    wording_at,
)
from autograder.errors import CourseError

RULES = Path(kinds.__file__).parent
KEY = re.compile(r"([a-z_]+)(?:\.[a-z_]+)?")
VARIANTS = [f"{name}.{variant}" for name, kind in KINDS.items() for variant in kind.variants]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_sentence_and_a_question(kind: str):
    """No sentence contains code, so it describes an effect and not the correction."""
    words = KINDS[kind]

    assert words.explanation.endswith(".")
    assert words.question.endswith("?")
    assert not set("()[]@=*") & set(words.explanation + words.question)


def test_each_variant_has_a_sentence_and_a_question():
    """Each variant has a sentence and a question, with placeholders."""
    sentences = [text for kind in KINDS.values() for text in kind.variants.values()]
    questions = [text for kind in KINDS.values() for text in kind.questions.values()]

    assert not [text for text in sentences if not text.endswith(".") or set("[]@=*") & set(text)]
    assert not [text for text in questions if not text.endswith("?") or set("[]@=*") & set(text)]


def keys_of_rules() -> set[str]:
    """Return each text in the modules of rules that has the form of a kind or a variant."""
    paths = [*RULES.glob("*.py"), *RULES.parent.glob("*_mistakes.py")]
    trees = [ast.parse(path.read_text("utf-8")) for path in paths]
    texts = [getattr(node, "value", None) for tree in trees for node in ast.walk(tree)]
    found = [KEY.fullmatch(text) for text in texts if isinstance(text, str)]
    return {match[0] for match in found if match and match[1] in KINDS}


def test_each_sentence_is_used_and_each_one_used_exists():
    """Each sentence of kinds.toml belongs to a rule, and each rule has its sentences."""
    used = keys_of_rules()

    assert {key for key in used if "." in key} == set(VARIANTS)
    assert {key.partition(".")[0] for key in used} == set(KINDS)


def test_each_placeholder_that_is_allowed_is_used():
    """Every allowed placeholder is used in a sentence."""
    texts = [
        text
        for kind in KINDS.values()
        for text in (*kind.variants.values(), *kind.questions.values())
    ]
    words = {word for text in texts for _, word, _, _ in Formatter().parse(text) if word}

    assert words == kinds.PLACEHOLDERS


def test_a_variant_has_its_own_sentence_and_maybe_its_own_question():
    """Words replace the placeholders, and the first one may begin the sentence."""
    compared = wording_at("operand_repeated.compared", {"what": "the keys"})
    size = wording_at("scale_wrong_power.size", {"what": "the scores"})

    assert compared.explanation == "The keys are compared with themselves."
    assert compared.question == "What must the keys be compared with?"
    assert size.question == KINDS["scale_wrong_power"].question


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        pytest.param({"explanation": None}, "Expected `str`", id="no-sentence"),
        pytest.param({"group": "k-means"}, "Invalid enum value 'k-means'", id="unknown-group"),
        pytest.param({"explanation": ""}, "length >= 1", id="empty"),
        pytest.param({"explanation": "It {is}."}, "unknown placeholder {is}", id="of-a-kind"),
        pytest.param({"variants": {"a": "It {is}."}}, "placeholder {is}", id="of-a-variant"),
        pytest.param({"questions": {"a": "Why?"}}, "unknown variants: a", id="of-nothing"),
        pytest.param({"titel": "It"}, "unknown field `titel`", id="unknown-key"),
    ],
)
def test_a_wrong_entry_is_refused(table: dict[str, object], reason: str):
    """A wrong entry of kinds.toml is refused, with the part that is wrong."""
    right = {"group": "python", "explanation": "It is.", "question": "Why?"}

    with pytest.raises(msgspec.ValidationError, match=re.escape(reason)):
        msgspec.convert(right | table, KindOfMistake)


def test_a_stage_rewords_a_kind():
    """The words of the stage replace those of the course, and None turns off the kind."""
    words = {"dtype": None, "scale_missing": ("Not scaled.", "By what?")}

    assert wording("dtype", words) is None
    assert wording("scale_missing", words) == ("Not scaled.", "By what?")
    assert wording("softmax_axis", words) == wording_at("softmax_axis", {})


def test_an_unknown_kind_is_refused():
    """An unknown kind is refused, because a misspelled one would turn off nothing."""
    with pytest.raises(CourseError, match="scale_mising"):
        require_known({"scale_mising": None})
