"""Tests a course's own sentences about mistakes, which need no Python."""

import pytest

from autograder.course import Course
from autograder.diagnosis import misconceptions, mistake_texts
from autograder.errors import CourseError

GERMAN = """
[dtype]
explanation = "Der Datentyp des Ergebnisses ist ein anderer."
question = "Welchen Datentyp haben die Eingaben?"

[wrong_return]
off = true
"""


def test_a_teacher_words_kinds_of_mistake_in_another_language(tiny: Course):
    """The sentences of the course are for all stages; those of a stage come before them."""
    stage = tiny.stages[0]
    (stage.hidden.parent / "sentences.toml").write_text(GERMAN, "utf-8")
    for_all = misconceptions.read_operators(stage)
    (stage.hidden / "sentences.toml").write_text("[dtype]\noff = true\n")

    assert for_all["dtype"] == (
        "Der Datentyp des Ergebnisses ist ein anderer.",
        "Welchen Datentyp haben die Eingaben?",
    )
    assert for_all["wrong_return"] is None
    assert misconceptions.read_operators(stage)["dtype"] is None


def test_a_teacher_words_misconceptions(tiny: Course):
    """A sentence that is left out stays, and a new explanation gives a new title."""
    stage = tiny.stages[0]
    before, _ = misconceptions.read(stage.misconceptions)
    (stage.hidden / "sentences.toml").write_text(
        '[squares]\nexplanation = "Die Zahlen werden quadriert."\n', "utf-8"
    )
    now, other = misconceptions.read(stage.misconceptions)

    assert now.explanation == "Die Zahlen werden quadriert."
    assert now.title == "Die Zahlen werden quadriert"
    assert now.question == before.question
    assert other.id == "scales_by_nothing"


@pytest.mark.parametrize(
    ("place", "text", "words"),
    [
        ("01_tiny/", "[nothing]\nquestion = 'Why?'", "no misconception 'nothing'"),
        ("01_tiny/", "[squares]\noff = true", "no misconception 'squares'"),
        ("01_tiny/", "[dtype]\nquestion = 'Why?'", "dtype needs an explanation and a question"),
        ("01_tiny/", "[dtype]\nfrage = 'Warum?'", "frage"),
        ("", "[squares]\nquestion = 'Why?'", "no kind of mistake 'squares'"),
    ],
)
def test_a_file_that_says_nothing_is_refused(tiny: Course, place: str, text: str, words: str):
    """The message about a name or a key that nothing has names the file."""
    stage = tiny.stages[0]
    path = stage.hidden.parent / f"{place}sentences.toml"
    path.write_text(text, "utf-8")

    with pytest.raises(CourseError, match=words) as caught:
        mistake_texts.of_stage(stage, ())
    assert str(path) in str(caught.value)
