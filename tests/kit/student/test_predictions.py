"""Tests that a lab asks for a guess, keeps it in the notebook, and then opens the answer."""

import json
from pathlib import Path

import pytest

from autograder.errors import AutograderError, CourseError
from autograder.student.lab import Lab
from autograder.student.predictions import calibration, checked, saved_guesses
from autograder.submission.written_answers import Prediction, answers

QUESTION = "Which tokens change?"
CHOICES = ("all of them", "the last one", "none")
ANSWERS = '[moved]\nright = 2\ntext = "The mask hides it from the others."\n'


@pytest.fixture
def folder(handed_out: Path) -> Path:
    """The folder of a stage with one answer."""
    (handed_out / "predictions.toml").write_text(ANSWERS, "utf-8")
    return handed_out


@pytest.fixture
def lab(folder: Path) -> Lab:
    """A lab in that folder."""
    return Lab(folder)


def save(folder: Path, *outputs: str, source: str = "lab.predict(...)") -> Path:
    """Save a notebook whose cells have *source* and print the *outputs*."""
    shown = [{"output_type": "display_data", "data": {"text/plain": text}} for text in outputs]
    cells = [{"source": source, "metadata": {}, "outputs": [output]} for output in shown]
    file = folder / "lab.ipynb"
    file.write_text(json.dumps({"cells": cells}), "utf-8")
    return file


def test_without_a_guess_the_cell_says_how_to_make_one(
    lab: Lab, capsys: pytest.CaptureFixture[str]
):
    """The question and its choices are printed with an example, and the answer stays shut."""
    lab.predict(QUESTION, CHOICES, name="moved")
    answer = lab.answer("moved")
    lab.guesses()

    text = capsys.readouterr().out
    assert f"{QUESTION}\n  1  all of them\n  2  the last one\n  3  none\n" in text
    assert "guess=3, sure=70" in text
    assert answer is None
    assert "opens after your guess" in text
    assert "No guess has been compared" in text


@pytest.mark.parametrize("guess", [2, "the last one"], ids=["number", "text"])
def test_a_guess_opens_its_answer(lab: Lab, capsys: pytest.CaptureFixture[str], guess: int | str):
    """A guess is a number or the text of a choice; the cell prints it."""
    lab.predict(QUESTION, CHOICES, name="moved", guess=guess, sure=70)

    assert "Your guess: 2, 70 % sure." in capsys.readouterr().out
    assert repr(lab.answer("moved")) == (
        "Your guess “the last one” was right.\n\nThe mask hides it from the others."
    )


def test_a_wrong_guess_is_compared_with_the_answer(lab: Lab):
    """The answer names the right choice, and the reason follows."""
    lab.predict(QUESTION, CHOICES, name="moved", guess=1, sure=100)

    assert "“all of them” was not right; it is “the last one”." in repr(lab.answer("moved"))


@pytest.mark.parametrize(
    ("guess", "sure", "said"),
    [
        pytest.param(0, 70, "from 1 to 3", id="below"),
        pytest.param(4, 70, "from 1 to 3", id="above"),
        pytest.param(True, 70, "from 1 to 3", id="bool"),
        pytest.param(2.0, 70, "from 1 to 3", id="float"),
        pytest.param("every", 70, "from 1 to 3", id="text"),
        pytest.param(None, 70, "from 1 to 3", id="no-guess"),
        pytest.param(2, None, "from 0 to 100", id="no-confidence"),
        pytest.param(2, 101, "from 0 to 100", id="surer-than-sure"),
        pytest.param(2, float("nan"), "from 0 to 100", id="nan"),
        pytest.param(2, "70 %", "from 0 to 100", id="text-for-percent"),
        pytest.param(2, 0.7, "write sure=70", id="share"),
    ],
)
def test_a_guess_that_cannot_be_read_is_refused_in_a_sentence(
    lab: Lab, capsys: pytest.CaptureFixture[str], guess: object, sure: object, said: str
):
    """The cell does not fail, and the answer stays shut."""
    lab.predict(QUESTION, CHOICES, name="moved", guess=guess, sure=sure)  # type: ignore[arg-type]

    text = capsys.readouterr().out
    assert "This guess is not stored: " in text
    assert said in text
    assert lab.answer("moved") is None


def test_a_guess_is_found_again_in_the_saved_notebook(folder: Path):
    """A new kernel reads the guess from the output of the cell."""
    save(folder, repr(checked(QUESTION, CHOICES, 2, 55)))
    lab = Lab(folder)
    lab.predict(QUESTION, CHOICES, name="moved")

    assert "was right" in repr(lab.answer("moved"))


def test_a_guess_about_other_choices_does_not_count(folder: Path):
    """If the course changes a question, it is asked again."""
    save(folder, repr(checked(QUESTION, ("some", "none"), 2, 55)))
    lab = Lab(folder)
    lab.predict(QUESTION, CHOICES, name="moved")

    assert lab.answer("moved") is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Your guess: 2, 70 % sure.", id="no-question"),
        pytest.param("Why?\n  1  so\nYour guess: 2, 70 % sure.", id="no-such-choice"),
        pytest.param("Why?\n  1  so\n  2  thus\nYour guess: 2, 170 % sure.", id="too-sure"),
        pytest.param("Why?\n  1  so\n  2  thus", id="no-guess"),
        pytest.param("", id="empty"),
    ],
)
def test_a_text_that_is_no_guess_is_left_out(tmp_path: Path, text: str):
    """A learner can edit the outputs of a notebook."""
    assert saved_guesses(save(tmp_path, text)) == []


def test_the_output_of_another_cell_is_no_guess(tmp_path: Path):
    """Only cells that ask are read."""
    text = repr(checked(QUESTION, CHOICES, 2, 55))

    assert saved_guesses(save(tmp_path, text, source="print(...)")) == []
    assert saved_guesses(save(tmp_path, text)) == [Prediction(QUESTION, CHOICES, 2, 55)]


@pytest.mark.parametrize("content", ["{", '{"cells": [{}]}', "[]"])
def test_a_damaged_notebook_has_no_guesses(tmp_path: Path, content: str):
    """Nothing fails."""
    (tmp_path / "lab.ipynb").write_text(content, "utf-8")

    assert saved_guesses(tmp_path / "lab.ipynb") == []
    assert saved_guesses(tmp_path / "missing.ipynb") == []


def test_an_unknown_answer_lists_those_that_there_are(lab: Lab):
    """The name of an answer may be mistyped."""
    with pytest.raises(AutograderError, match="no answer 'move' here"):
        lab.answer("move")


def test_a_damaged_file_of_answers_is_named(folder: Path):
    """The sentence names the command that gets the file back."""
    (folder / "predictions.toml").write_text("[moved]\nright = 'x'", "utf-8")

    with pytest.raises(CourseError, match="autograder start"):
        answers(folder)


@pytest.mark.parametrize(
    ("choices", "question"), [(("one",), "Why?"), ("yes", "Why?"), (CHOICES, " ")]
)
def test_a_question_needs_choices(lab: Lab, choices: object, question: str):
    """An author reads what is missing."""
    with pytest.raises(ValueError, match="a question and a list of at least two choices"):
        lab.predict(question, choices)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sure", "right", "said"),
    [
        pytest.param(90, 1, "1 of 2 guesses was right (50 %), and you were 90 %", id="counts"),
        pytest.param(90, 1, "surer than you were right", id="too-sure"),
        pytest.param(60, 1, "about as sure as you were right", id="calibrated"),
        pytest.param(60, 2, "right more often than you were sure", id="too-modest"),
    ],
)
def test_confidence_is_compared_with_success(sure: int, right: int, said: str):
    """The line has both numbers and says how they compare."""
    made = Prediction(QUESTION, CHOICES, 1, sure)

    assert said in calibration([(made, number < right) for number in range(2)])


def test_controls_store_a_guess(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    """A click stores the choice, and does nothing before there is one."""
    widgets = pytest.importorskip("ipywidgets")
    shown: list[object] = []

    class Handle:
        def update(self, made: object) -> None:
            shown.append(made)

    def display(*things: object, **_options: bool) -> Handle:
        shown.extend(things)
        return Handle()

    monkeypatch.setattr("IPython.display.display", display)
    lab.predict(QUESTION, CHOICES, name="moved")
    _, choice, sure, button = shown
    assert isinstance(button, widgets.Button)
    button.click()
    assert lab.answer("moved") is None
    choice.index, sure.value = 1, 80  # type: ignore[attr-defined]
    button.click()

    assert shown[-1] == Prediction(QUESTION, CHOICES, 2, 80)
    assert "was right" in repr(lab.answer("moved"))
