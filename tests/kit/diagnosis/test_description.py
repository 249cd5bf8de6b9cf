"""Tests the sentences about wrong answers."""

import ast
import re
from collections import Counter
from pathlib import Path
from string import Formatter

import msgspec
import pytest

from autograder.diagnosis import description
from autograder.diagnosis.description import PATTERNS, PatternText, WrongAnswerPattern
from autograder.diagnosis.exceptions import ERROR_TEXTS
from autograder.diagnosis.mistakes.kinds import KINDS

MODULES = Path(description.__file__).parent
KEYS = [
    key
    for name, text in PATTERNS.items()
    for key in (*([name] if text.sentence else []), *(f"{name}.{one}" for one in text.variants))
]


def words_of(key: str) -> list[str]:
    """Return the placeholders of the sentence at *key*."""
    name, _, variant = key.partition(".")
    text = PATTERNS[name]
    parts = Formatter().parse(text.variants[variant] if variant else text.sentence)
    return [word for _, word, _, _ in parts if word]


@pytest.mark.parametrize("key", KEYS)
def test_each_pattern_has_a_sentence_and_a_question(key: str):
    """Each pattern has a sentence and a question, whose placeholders are filled."""
    words = words_of(key)
    pattern = WrongAnswerPattern.of(key, **dict.fromkeys(words, 187))

    assert pattern.sentence.endswith(".")
    assert pattern.question.endswith("?")
    assert pattern.sentence.count("187") == len(words)
    assert pattern.diagnosis(shows_values=True).explanation == pattern.sentence


@pytest.mark.parametrize(
    "key", [key for key in KEYS if not PATTERNS[key.split(".")[0]].from_solution]
)
def test_next_to_hidden_inputs_a_pattern_has_no_word_of_an_answer(key: str):
    """A sentence about hidden inputs has no placeholder for a word of the answer."""
    pattern = WrongAnswerPattern.of(key, **dict.fromkeys(words_of(key), 187))

    assert not re.search(r"\d|[{}]", pattern.diagnosis(shows_values=False).explanation)


def test_each_placeholder_that_is_allowed_is_used():
    """Every allowed placeholder is used in a sentence."""
    assert {word for key in KEYS for word in words_of(key)} == description.PLACEHOLDERS


def test_each_sentence_is_used_and_each_one_used_exists():
    """Modules name every sentence of the file, and only sentences of the file."""
    trees = [ast.parse(path.read_text("utf-8")) for path in MODULES.glob("*.py")]
    texts = {getattr(node, "value", None) for tree in trees for node in ast.walk(tree)}
    calls = [
        node.args[0].value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "WrongAnswerPattern.of"
        and isinstance(node.args[0], ast.Constant)
    ]

    assert [key for key in KEYS if key not in texts] == []
    assert [key for key in calls if key not in KEYS] == []


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        pytest.param({}, "missing required field `sentence`, or `variants`", id="no-sentence"),
        pytest.param({"sentence": "It is.", "question": ""}, "length >= 1", id="no-question"),
        pytest.param({"sentence": "It {is}."}, "unknown placeholder {is}", id="placeholder"),
        pytest.param({"variants": {"a": "It {is}."}}, "unknown placeholder {is}", id="variant"),
        pytest.param({"sentence": "A {size}."}, "missing required field `public`", id="words"),
        pytest.param({"variants": {"a": "A."}}, "missing required field `public`", id="choice"),
        pytest.param(
            {"sentence": "A {size}.", "public": "A {size}."}, "placeholder {size}", id="public"
        ),
        pytest.param({"sentence": "A.", "pubic": "A."}, "unknown field `pubic`", id="key"),
    ],
)
def test_a_wrong_entry_is_refused(table: dict[str, object], reason: str):
    """An entry without its sentence for hidden inputs is refused."""
    with pytest.raises(msgspec.ValidationError, match=re.escape(reason)):
        msgspec.convert({"question": "Why?"} | table, PatternText)


def test_no_id_has_two_meanings():
    """A kind of mistake, a pattern and an error text never have the same id in a record."""
    ids = [*KINDS, *PATTERNS, *dict(ERROR_TEXTS)]

    assert [name for name, count in Counter(ids).items() if count > 1] == []
