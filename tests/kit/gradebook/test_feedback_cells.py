"""Tests that cells are left out of the student's page of `nbgrader generate_feedback`."""

import json
from collections.abc import Callable

import nbformat
import pytest
from traitlets.config import Config

from autograder.course import Course
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.feedback_cells import RemoveMarkScheme, ShortenFeedback
from tests.kit.factories import SOLUTION, STAGE, TOUR, Made, StudentWork, WriteBook, cell

Shorten = Callable[..., list[str]]


@pytest.fixture
def shorten(course: Course, graded: Made, work: StudentWork, write: WriteBook) -> Shorten:
    """Grade ada with a lab; return the texts of the cells that her page keeps."""

    def run(lab: bytes, stage: str = STAGE) -> list[str]:
        write(graded(), ada=work(lab=lab))
        setup = NbgraderSetup.of_course(course)
        notebook = nbformat.read(setup.autograded("ada", STAGE) / "lab.ipynb", as_version=4)
        step = ShortenFeedback(config=setup.config)
        kept, _ = step.preprocess(notebook, {"nbgrader": {"assignment": stage}})
        return [item.source for item in kept.cells]

    return run


@pytest.mark.parametrize("step", [ShortenFeedback, RemoveMarkScheme])
def test_a_step_accepts_the_options_of_nbconvert(step: type, caplog: pytest.LogCaptureFixture):
    """The step accepts an option that nbconvert passes to every step, without a warning."""
    config = Config(NbConvertBase={"display_data_priority": ["text/html"]})
    made = step(config=config)

    assert made.display_data_priority == ["text/html"]
    assert caplog.text == ""


def test_lessons_and_the_module_are_left_out(shorten: Shorten, answered: Callable[..., bytes]):
    """Cells with points or an answer stay, in their order."""
    kept = shorten(answered(why="Because."))

    assert [text for text in kept if "lab.check" in text or text == "Because."] == [
        'lab.check("double")',
        "Because.",
        'lab.check("Scale")',
    ]
    assert not [text for text in kept if text in {TOUR, "x = torch.ones(2)"} or SOLUTION in text]


def test_a_cell_that_the_student_wrote_stays(shorten: Shorten, released: dict):
    """A cell that the student wrote stays, and so does a lesson that the student changed."""
    own = [cell("code", "x = torch.zeros(2)"), cell("markdown", "A thought.")]
    kept = shorten(json.dumps({**released, "cells": [*released["cells"], *own]}).encode())

    assert kept[-2:] == ["x = torch.zeros(2)", "A thought."]


def test_an_unknown_assignment_keeps_its_lessons(shorten: Shorten, answered: Callable[..., bytes]):
    """An assignment that is not a stage has no lab to compare with, so its lessons stay."""
    assert TOUR in shorten(answered(), stage="homework")


def test_a_lab_that_is_missing_keeps_the_lessons(
    shorten: Shorten, answered: Callable[..., bytes], course: Course
):
    """Without the source lab, the page keeps all lessons."""
    lab = answered()
    shorten(lab)
    course.stage(STAGE).lab.rename(course.root / "moved.ipynb")
    setup = NbgraderSetup.of_course(course)
    notebook = nbformat.read(setup.autograded("ada", STAGE) / "lab.ipynb", as_version=4)
    step = ShortenFeedback(config=setup.config)
    kept, _ = step.preprocess(notebook, {"nbgrader": {"assignment": STAGE}})

    assert TOUR in [item.source for item in kept.cells]
