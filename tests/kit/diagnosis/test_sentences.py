"""Tests reading the sentences in TOML files, and the errors about wrong entries."""

from pathlib import Path

import pytest

from autograder.diagnosis.sentences import (
    Sentence,
    TextEntry,
    fill,
    read_entries,
    require_placeholders,
)
from autograder.errors import CourseError


class Greeting(TextEntry, frozen=True):
    """An entry with one sentence."""

    sentence: Sentence

    def __post_init__(self) -> None:
        """Allow one placeholder."""
        require_placeholders([self.sentence], {"name"})


def read(path: Path, text: str) -> list[tuple[str, Greeting]]:
    """Read *text* from a file."""
    path.write_text(text)
    return list(read_entries(path, Greeting))


def test_entries_are_read_in_their_order(tmp_path):
    """Entries of a TOML file are read in order, several tables of one name included."""
    text = '[b]\nsentence = "Hello {name}."\n[[a]]\nsentence = "One."\n[[a]]\nsentence = "Two."\n'
    found = read(tmp_path / "greetings.toml", text)

    assert [(name, entry.sentence) for name, entry in found] == [
        ("b", "Hello {name}."),
        ("a", "One."),
        ("a", "Two."),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param('sentence = "A."\nquestin = "B?"', "unknown field `questin`", id="key"),
        pytest.param("", "missing required field `sentence`", id="no-sentence"),
        pytest.param('sentence = ""', "length >= 1", id="empty"),
        pytest.param('sentence = "A {nmae}."', "unknown placeholder {nmae}", id="placeholder"),
        pytest.param('sentence = "A {}."', "unknown placeholder {}", id="no-name"),
        pytest.param('sentence = "A {name."', "expected '}'", id="brace"),
    ],
)
def test_a_wrong_entry_is_refused(tmp_path, text: str, reason: str):
    """The message about a wrong entry names the file, the entry and the error."""
    path = tmp_path / "greetings.toml"

    with pytest.raises(CourseError) as refused:
        read(path, f"[hello]\n{text}\n")
    assert str(refused.value).startswith(f"{path}, entry hello: ")
    assert reason in str(refused.value)


@pytest.mark.parametrize("text", ["[hello", "[hello]\n[hello]\n", "hello = 1\n"])
def test_what_is_not_a_table_is_refused(tmp_path, text: str):
    """Invalid TOML, two tables with one name, and a number in place of a table are refused."""
    path = tmp_path / "greetings.toml"

    with pytest.raises(CourseError, match=str(path)):
        read(path, text)


def test_a_word_that_is_not_given_is_named():
    """A placeholder without a word is reported with the entry and the placeholder."""
    assert fill("Hello {name}.", {"name": "you"}, "hello") == "Hello you."
    with pytest.raises(CourseError, match="entry hello has the placeholder 'name'"):
        fill("Hello {name}.", {}, "hello")
