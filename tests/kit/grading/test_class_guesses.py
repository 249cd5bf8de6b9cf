"""Tests that the guesses of a class are counted by the questions of the course's lab."""

from pathlib import Path, PurePosixPath

import pytest

from autograder.course import Course
from autograder.grading.class_guesses import class_guesses
from autograder.grading.run import Run, RunOptions
from autograder.reports.class_report import GuessedChoice, GuessedQuestion
from autograder.results import Results, Status, SubmissionResult
from autograder.submission import Submission
from autograder.submission.collect import LazySubmissions, find
from autograder.submission.files import SubmittedFile, check_size
from autograder.submission.written_answers import Prediction
from tests.kit.factories import SOLUTION, cell, notebook

CALL = 'lab.predict("Why?", ["so", "thus"], name="why")'
OTHER = 'lab.predict("When?", ["now", "then"], name="when")'


@pytest.fixture
def asking(tiny: Course) -> Course:
    """The tiny course, whose lab asks two questions."""
    [stage] = tiny.stages
    stage.lab.write_bytes(notebook(cell("code", CALL), cell("code", OTHER)))
    (stage.source / "predictions.toml").write_text(
        "[why]\nright = 2\ntext = 'Thus.'\n[when]\nright = 1\ntext = 'Now.'\n"
    )
    return tiny


def submitted(content: bytes | None) -> Submission:
    """A submission with a lab of this *content*, or without one."""
    lab = content and SubmittedFile(
        path=PurePosixPath("lab.ipynb"),
        label="lab.ipynb",
        read=lambda limit: check_size(content, limit, "lab.ipynb"),
    )
    return Submission(student="ada", stage="01_tiny", code=None, lab=lab or None)


def guessed(*made: Prediction) -> bytes:
    """A lab whose cells show the guesses *made*."""
    outputs = [{"data": {"text/plain": repr(one)}} for one in made]
    return notebook({**cell("code", CALL), "outputs": outputs})


def why(guess: int, sure: int) -> Prediction:
    """A guess for the first question."""
    return Prediction("Why?", ("so", "thus"), guess, sure)


def test_each_lab_counts_once_for_each_question(asking: Course):
    """The last guess counts; labs without guesses, damaged ones and none cost nothing."""
    class_ = [
        submitted(guessed(why(1, 90), why(2, 70))),
        submitted(guessed(why(1, 100))),
        submitted(guessed(Prediction("My question?", ("so", "thus"), 1, 50))),
        submitted(b"{"),
        submitted(None),
    ]

    choices = (
        GuessedChoice("so", (100,), is_right=False),
        GuessedChoice("thus", (70,), is_right=True),
    )

    found = class_guesses(asking.stages, class_)

    assert found == {"01_tiny": [GuessedQuestion("Why?", choices)]}


def test_the_report_of_a_run_shows_the_guesses(asking: Course, tmp_path: Path):
    """The labs of the submissions are read again; the record has no place for guesses."""
    work = tmp_path / "submitted" / "ada" / "01_tiny"
    work.mkdir(parents=True)
    (work / "tiny.py").write_text(SOLUTION)
    (work / "lab.ipynb").write_bytes(guessed(why(2, 70)))
    submissions = LazySubmissions.of([find(tmp_path / "submitted", asking.stages)])
    ada = SubmissionResult(
        student="ada", stage="01_tiny", status=Status.GRADED, score=5.0, max_score=10.0
    )
    run = Run(course=asking, submissions=submissions, options=RunOptions(report=tmp_path / "pages"))

    saved = run.save(Results(course="tiny", isolation="full", submissions=(ada,)))

    assert not saved.faults
    assert "<caption>Why?</caption>" in (tmp_path / "pages" / "index.html").read_text("utf-8")


def test_a_course_without_questions_reads_no_submission(tiny: Course):
    """The class is not read a second time for nothing."""
    assert class_guesses(tiny.stages, None) == {}  # type: ignore[arg-type]
