"""Asks a learner for a guess before an experiment, and keeps the answer shut until there is one."""

from collections.abc import Callable, Sequence
from pathlib import Path

from autograder.submission.files import UnusableFile, read_regular
from autograder.submission.notebook import MAX_NOTEBOOK
from autograder.submission.written_answers import SURE, Prediction, RightChoice, asked, guesses_in

CLEAR = 15  # percent between the confidence and the share of right guesses


class MarkdownText:
    """A text of the course, as Markdown if it can be rendered."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def _repr_markdown_(self) -> str:
        return self._text


def shown_answer(answer: RightChoice, made: Prediction) -> MarkdownText:
    """Return the *answer* after a guess."""
    right = made.choices[answer.right - 1]
    verdict = "right" if made.guess == answer.right else f"not right; it is “{right}”"
    guess = made.choices[made.guess - 1]
    return MarkdownText(f"Your guess “{guess}” was {verdict}.\n\n{answer.text}")


def checked(question: str, choices: Sequence[str], guess: object, sure: object) -> Prediction:
    """Return the prediction with *guess*, a number or text; raise ``ValueError`` if it is none."""
    if isinstance(choices, str) or len(choices) < 2 or not question.strip():  # noqa: PLR2004
        raise ValueError("A prediction needs a question and a list of at least two choices.")
    made = asked(question, choices)
    if guess is None and sure is None:
        return made
    if guess in made.choices:
        guess = made.choices.index(str(guess)) + 1
    if isinstance(guess, bool) or not isinstance(guess, int) or not 1 <= guess <= len(choices):
        raise ValueError(f"guess must be a number from 1 to {len(choices)}, and is {guess!r}.")
    if isinstance(sure, bool) or not isinstance(sure, int | float) or not 0 <= sure <= SURE:
        msg = f"sure must be a percentage from 0 to 100, such as sure=70, and is {sure!r}."
        raise ValueError(msg)
    if 0 < sure < 1:
        raise ValueError(f"sure is a percentage: for {sure!r}, write sure={100 * sure:.0f}.")
    return made._replace(guess=guess, sure=round(sure))


def offer(made: Prediction, store: Callable[[Prediction], None]) -> None:
    """Show *made*; without a guess, also controls, which *store* it and then show it instead."""
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


def saved_guesses(lab: Path) -> list[Prediction]:
    """List the guesses in the outputs of the notebook *lab*; empty if it can't be read."""
    try:
        return guesses_in(read_regular(lab, MAX_NOTEBOOK))
    except UnusableFile:
        return []


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
    guesses = "guess" if len(compared) == 1 else "guesses"
    were = "was" if right == 1 or len(compared) == 1 else "were"
    return (
        f"{right} of {len(compared)} {guesses} {were} right ({share:.0f} %), "
        f"and you were {sure:.0f} % sure on average: {verdict}."
    )
