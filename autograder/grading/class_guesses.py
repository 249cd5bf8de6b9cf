"""Counts what the labs of a class guessed; the record does not keep it."""

from collections.abc import Iterable, Iterator, Sequence

from autograder.course import Stage
from autograder.reports.class_report import GuessedChoice, GuessedQuestion, Guesses
from autograder.submission import Submission
from autograder.submission.files import UnusableFile
from autograder.submission.notebook import MAX_NOTEBOOK
from autograder.submission.written_answers import (
    AnsweredQuestion,
    Prediction,
    answered_questions,
    guesses_in,
)


def class_guesses(stages: Iterable[Stage], submissions: Sequence[Submission]) -> Guesses:
    """Return the questions of *stages* that a lab in *submissions* answers, with all guesses.

    Raises ``CourseError`` if the course's answers can't be read, and ``UsageError`` if a
    submission has changed.
    """
    asked = {stage.name: found for stage in stages if (found := answered_questions(stage))}
    if not asked:
        return {}
    made: dict[str, list[list[Prediction | None]]] = {}
    for submission in submissions:
        questions = asked.get(submission.stage)
        if questions and (shown := _shown(submission)):
            row = [question.latest(shown) for question in questions]
            made.setdefault(submission.stage, []).append(row)
    return {
        stage: list(_counted(asked[stage], zip(*rows, strict=True))) for stage, rows in made.items()
    }


def _shown(submission: Submission) -> list[Prediction]:
    """List the guesses in the lab of *submission*; none if it can't be read."""
    try:
        return guesses_in(submission.lab.read(MAX_NOTEBOOK)) if submission.lab else []
    except UnusableFile:
        return []


def _counted(
    questions: Sequence[AnsweredQuestion], columns: Iterable[Sequence[Prediction | None]]
) -> Iterator[GuessedQuestion]:
    """Yield each question with its column of guesses, unless nobody guessed."""
    for (asked, right), column in zip(questions, columns, strict=True):
        guesses = [guess for guess in column if guess]
        choices = tuple(
            GuessedChoice(
                text,
                tuple(guess.sure for guess in guesses if guess.guess == number),
                number == right,
            )
            for number, text in enumerate(asked.choices, start=1)
        )
        if guesses:
            yield GuessedQuestion(asked.question, choices)
