"""Tests the sentences about the mistakes of a stage."""

from pathlib import Path

import pytest

from autograder.course import Course
from autograder.diagnosis import mistake_texts
from autograder.diagnosis.mistake_texts import MistakeText, MistakeTexts
from autograder.errors import UsageError

TEXTS = MistakeTexts(
    misconceptions={
        "squares": MistakeText('It is "squared".', "Why?\nWhy \\ not?", "Squared"),
        "a.b c": MistakeText("Größer, als es sein darf.", "\x7f?"),
    },
    kinds={"softmax_axis": MistakeText("The wrong axis.", "Which one?")},
)


def test_texts_are_read_as_they_were_written(tmp_path: Path):
    """Quotes, line breaks, other letters and control characters are kept."""
    path = tmp_path / "mistakes.toml"
    path.write_bytes(mistake_texts.to_toml(TEXTS))

    assert mistake_texts.read(path) == TEXTS


def test_without_a_title_the_first_clause_is_the_headline():
    """A title that the first clause gives is not stored."""
    squares, other = TEXTS.misconceptions.values()

    assert (squares.headline, other.headline) == ("Squared", "Größer, als es sein darf")


def test_only_recorded_misconceptions_are_written(tiny: Course):
    """A misconception that no public check detects is not told to students."""
    texts = mistake_texts.of_stage(tiny.stages[0], ("squares",))

    assert [*texts.misconceptions] == ["squares"]
    assert texts.misconceptions["squares"].explanation == "The numbers were squared."


@pytest.mark.parametrize("text", ["[", "[kinds.x]\n", "[other]\n", "\udcff"])
def test_a_damaged_file_is_one_sentence(tmp_path: Path, text: str):
    """The error has the path, and the command that restores the file."""
    path = tmp_path / "mistakes.toml"
    path.write_text(text, "utf-8", errors="surrogateescape")

    with pytest.raises(UsageError, match=r"mistakes\.toml.*`autograder start` restores it"):
        mistake_texts.read(path)
