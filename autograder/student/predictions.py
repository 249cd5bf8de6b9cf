"""Asks a learner for a guess before an experiment, and keeps the answer shut until there is one.

The guess is in the output of its cell, so it travels with the notebook. Answers are in the file
``predictions.toml`` of the stage.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from autograder.errors import CourseError
from autograder.sanitize import MAX_SENTENCE, line, lines
from autograder.student.lab_outputs import MOST_BYTES, MOST_TEXT

ANSWERS = "predictions.toml"
PREDICT = "lab.predict("  # in each cell that asks
HOW = "Choose below, or write your guess into this cell and run it again, for example:"
GUESSED = re.compile(r"Your guess: (\d+), (\d+) % sure\.")
CLEAR = 15  # percent between the confidence and the share of right guesses
MOST = 50  # guesses of one lab
SURE = 100  # percent; nobody can be surer


class Prediction(NamedTuple):
    """A question with its choices; *guess* counts from 1, and is 0 without one."""

    question: str
    choices: tuple[str, ...]
    guess: int = 0
    sure: int = 0  # percent

    def __repr__(self) -> str:
        listed = (f"  {number}  {choice}" for number, choice in enumerate(self.choices, start=1))
        return "\n".join((self.question, *listed, self.last_line))

    def _repr_html_(self) -> str:
        listed = "".join(f"<li>{escape(choice)}</li>" for choice in self.choices)
        return f"<b>{escape(self.question)}</b><ol>{listed}</ol>{escape(self.last_line)}"

    @property
    def last_line(self) -> str:
        """The guess, or how to make one."""
        if self.guess:
            return f"Your guess: {self.guess}, {self.sure} % sure."
        return f"{HOW} guess={len(self.choices)}, sure=70"


class RightChoice(NamedTuple):
    """The number of the right choice, from 1, and a *text* in Markdown about the reason."""

    right: int
    text: str


class AnswerShown:
    """An answer after a guess, as Markdown if it can be rendered."""

    def __init__(self, answer: RightChoice, made: Prediction) -> None:
        right = made.choices[answer.right - 1]
        verdict = "right" if made.guess == answer.right else f"not right; it is “{right}”"
        self._text = f"Your guess “{made.choices[made.guess - 1]}” was {verdict}.\n\n{answer.text}"

    def __repr__(self) -> str:
        return self._text

    def _repr_markdown_(self) -> str:
        return self._text


def checked(question: str, choices: Sequence[str], guess: object, sure: object) -> Prediction:
    """Return the prediction with *guess*, the number or the text of a choice.

    Raises ``ValueError`` with a sentence for the learner if *guess* or *sure* can't be read.
    """
    if isinstance(choices, str) or len(choices) < 2 or not question.strip():  # noqa: PLR2004
        msg = "A prediction needs a question and a list of at least two choices."
        raise ValueError(msg)
    made = Prediction(" ".join(question.split()), tuple(" ".join(one.split()) for one in choices))
    if guess is None and sure is None:
        return made
    if guess in made.choices:
        guess = made.choices.index(str(guess)) + 1
    if isinstance(guess, bool) or not isinstance(guess, int) or not 1 <= guess <= len(choices):
        msg = f"guess must be a number from 1 to {len(choices)}, and is {guess!r}."
        raise ValueError(msg)
    if isinstance(sure, bool) or not isinstance(sure, int | float) or not 0 <= sure <= SURE:
        msg = f"sure must be a percentage from 0 to 100, such as sure=70, and is {sure!r}."
        raise ValueError(msg)
    if 0 < sure < 1:
        msg = f"sure is a percentage: for {sure!r}, write sure={100 * sure:.0f}."
        raise ValueError(msg)
    return made._replace(guess=guess, sure=round(sure))


def offer(made: Prediction, store: Callable[[Prediction], None]) -> None:
    """Show *made*; if it has no guess and there are widgets, also controls to make one.

    *store* gets the prediction with the guess, which then replaces the question on the page.
    """
    from IPython.display import display  # noqa: PLC0415  # only notebooks need it

    shown = display(made, display_id=True)  # type: ignore[no-untyped-call]
    try:
        import ipywidgets  # noqa: PLC0415  # it may not be installed
    except ImportError:
        return
    if made.guess:
        return
    choice = ipywidgets.RadioButtons(options=list(made.choices), value=None)
    sure = ipywidgets.IntSlider(value=50, max=SURE, step=5, description="% sure")
    button = ipywidgets.Button(description="Store my guess")

    def click(_button: object) -> None:
        if choice.index is not None:
            guessed = made._replace(guess=choice.index + 1, sure=sure.value)
            store(guessed)
            shown.update(guessed)

    button.on_click(click)
    display(choice, sure, button)  # type: ignore[no-untyped-call]


def answers(stage: Path) -> dict[str, RightChoice]:
    """Return the answers of the stage in the folder *stage*, by name; none without the file.

    Raises ``CourseError`` if the file can't be read.
    """
    file = stage / ANSWERS
    try:
        tables = tomllib.loads(file.read_text("utf-8"))
        return {
            name: RightChoice(int(table["right"]), str(table["text"]))
            for name, table in tables.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{file} can't be read: {error}. `autograder start` restores it."
        raise CourseError(msg) from error


def saved_guesses(lab: Path) -> list[Prediction]:
    """List the guesses in the outputs of the notebook *lab*; empty if it can't be read."""
    try:
        if lab.stat().st_size > MOST_BYTES:
            return []
        cells = json.loads(lab.read_bytes())["cells"]
        return list(_guesses(cells))[:MOST]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def _guesses(cells: list[Any]) -> Iterator[Prediction]:
    """Yield the guesses that the *cells* show; the text is the learner's and may be anything."""
    for cell in cells:
        if PREDICT not in "".join(cell["source"]):
            continue
        for output in cell.get("outputs") or []:
            text = "".join((output.get("data") or {}).get("text/plain") or "")
            shown = lines(text, MOST_TEXT).splitlines()
            question, listed, last = "".join(shown[:1]), shown[1:-1], "".join(shown[-1:])
            choices = tuple(line(one.strip().partition("  ")[2], MAX_SENTENCE) for one in listed)
            found = GUESSED.fullmatch(last)
            if found and 1 <= int(found[1]) <= len(choices) and int(found[2]) <= SURE:
                yield Prediction(question, choices, int(found[1]), int(found[2]))


def calibration(compared: Sequence[tuple[Prediction, bool]]) -> str:
    """Compare the confidence of guesses, each with whether it was right, with their success."""
    if not compared:
        return "No guess has been compared with its answer yet."
    share = 100 * sum(right for _, right in compared) / len(compared)
    sure = sum(made.sure for made, _ in compared) / len(compared)
    gap = sure - share
    verdict = "about as sure as you were right"
    if abs(gap) > CLEAR:
        verdict = "surer than you were right" if gap > 0 else "right more often than you were sure"
    right = sum(right for _, right in compared)
    were = "was" if right == 1 else "were"
    return (
        f"{right} of {len(compared)} guesses {were} right ({share:.0f} %), "
        f"and you were {sure:.0f} % sure on average: {verdict}."
    )
