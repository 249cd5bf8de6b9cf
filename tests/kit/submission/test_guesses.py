"""Tests what is read from a saved lab: the guesses, the questions, and their answers."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from autograder.submission.written_answers import (
    Prediction,
    answered_questions,
    guesses_in,
    questions_in,
)
from tests.kit.factories import Cell, cell, notebook

MADE = Prediction("Which tokens change?", ("all of them", "the last one"), 2, 70)
CALL = 'lab.predict("Which tokens\\n  change?", ["all of them", "the last one"], name="moved")'


def showing(*texts: object, source: str = CALL) -> Cell:
    """A cell that asks, and shows *texts*."""
    outputs = [{"output_type": "display_data", "data": {"text/plain": text}} for text in texts]
    return {**cell("code", source), "outputs": outputs}


@pytest.mark.parametrize(
    "outputs", [3, "text", [3], [{"data": 3}], [{"data": {"text/plain": [3]}}], {"data": {}}]
)
def test_outputs_of_another_form_cost_only_the_guesses(outputs: object):
    """A student can write anything into a notebook."""
    assert guesses_in(notebook({**cell("code", CALL), "outputs": outputs})) == []


def test_a_guess_has_no_control_sequences_and_a_bounded_length():
    """Its text is the student's."""
    text = f"Why?\n  1  \x1b[31m{'so ' * 200}\n  2  thus\nYour guess: 1, 70 % sure."

    [made] = guesses_in(notebook(showing(text)))

    assert "\x1b" not in made.choices[0]
    assert len(made.choices[0]) <= 400


def test_a_lab_has_at_most_fifty_guesses():
    """A larger number is cut, and costs no error."""
    assert len(guesses_in(notebook(showing(*[repr(MADE)] * 60)))) == 50


def test_a_question_has_the_texts_of_its_guesses():
    """A guess is found by its question and choices, also if the source has line breaks."""
    assert questions_in(notebook(cell("code", CALL))) == {"moved": MADE._replace(guess=0, sure=0)}


@pytest.mark.parametrize(
    "source",
    [
        "lab.predict(",
        "lab.predict()",
        "lab.predict(question, choices, name='x')",
        "lab.predict('Why?', ['so', 'thus'])",
        "lab.predict('Why?', 3, name='x')",
        "lab.predict('Why?', [1, 2], name='x')",
        "lab.predict(" * 3000,
    ],
    ids=["broken", "empty", "computed", "no-name", "no-list", "numbers", "deep"],
)
def test_a_call_that_cannot_be_read_asks_nothing(source: str):
    """The other questions of the lab are read."""
    assert list(questions_in(notebook(cell("code", source), cell("code", CALL)))) == ["moved"]


@pytest.mark.parametrize(("right", "count"), [(2, 1), (3, 0), (0, 0)])
def test_only_questions_with_an_answer_among_the_choices_count(
    tmp_path: Path, right: int, count: int
):
    """A wrong number in ``predictions.toml`` compares nothing."""
    (tmp_path / "predictions.toml").write_text(f"[moved]\nright = {right}\ntext = 'So.'\n")
    (tmp_path / "lab.ipynb").write_bytes(notebook(cell("code", CALL)))
    stage = SimpleNamespace(source=tmp_path, lab=tmp_path / "lab.ipynb")

    found = answered_questions(stage)

    assert len(found) == count
    assert all(one.latest([MADE._replace(guess=1), MADE]) == MADE for one in found)
    assert all(one.latest([MADE._replace(question="Why?")]) is None for one in found)
