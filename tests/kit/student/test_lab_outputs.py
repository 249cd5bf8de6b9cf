"""Tests pictures and printed lines from a lab that its learner has run."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from autograder.student.course_page import MOST_OUTPUTS, PNG, Output, outputs_after_exercises

DOT = base64.b64encode(PNG + b"a dot").decode()


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """The path of the lab."""
    return tmp_path / "lab.ipynb"


def write(lab: Path, *cells: tuple[str, list[dict[str, Any]]]) -> None:
    """Write a lab with these cells: their code and their outputs."""
    saved = [
        {"cell_type": "code", "source": [code], "outputs": outputs, "metadata": {}}
        for code, outputs in cells
    ]
    lab.write_text(json.dumps({"cells": saved}))


def printed(text: str) -> dict[str, Any]:
    """The output of `print` in a cell."""
    return {"output_type": "stream", "name": "stdout", "text": [text]}


def shown(kind: str, data: str) -> dict[str, Any]:
    """The output of `display` in a cell."""
    return {"output_type": "display_data", "data": {kind: [data]}}


CHECKED = ('lab.check("double")', [printed("2 of 2")])


def test_cells_behind_the_last_exercise_count(lab: Path):
    """Cells before the exercise are left out, and so is the text that the check prints."""
    write(lab, ("print(1)", [printed("early")]), CHECKED, ("print(2)", [printed("late\n")]))

    assert outputs_after_exercises(lab) == [Output(text="late")]


def test_what_a_cell_prints_is_one_text(lab: Path):
    """The parts in which Jupyter saves a cell's output are joined."""
    write(lab, CHECKED, ("train()", [printed("step 1\n"), printed("step 2\n")]))

    assert outputs_after_exercises(lab) == [Output(text="step 1\nstep 2")]


def test_pictures_are_taken_from_pages_and_displays(lab: Path):
    """A picture has the title that the page gives it."""
    page = f'<div><img src="data:image/png;base64,{DOT}" alt="before"></div>'
    write(lab, CHECKED, ("draw()", [shown("text/html", page), shown("image/png", DOT)]))

    assert outputs_after_exercises(lab) == [
        Output(picture=DOT, title="before"),
        Output(picture=DOT, title="A picture of your lab"),
    ]


@pytest.mark.parametrize(
    "data", ["no base64", base64.b64encode(b"<svg onload=alert(1)>").decode(), ""]
)
def test_what_is_no_picture_is_left_out(lab: Path, data: str):
    """Only a PNG in the output of a cell is shown; other elements of a page are not."""
    page = f'<script>alert(1)</script><img src="data:image/png;base64,{data}">'
    write(lab, CHECKED, ("draw()", [shown("image/png", data), shown("text/html", page)]))

    assert outputs_after_exercises(lab) == []


def test_model_answers_are_left_out(lab: Path):
    """Model answers are left out, because they are texts of the course."""
    write(lab, CHECKED, ('lab.model_answer("why")', [printed("because")]))

    assert outputs_after_exercises(lab) == []


def test_only_some_outputs_are_shown(lab: Path):
    """The number of outputs of a lab is bounded."""
    write(lab, CHECKED, *[("print(1)", [printed(str(number))]) for number in range(20)])

    assert len(outputs_after_exercises(lab)) == MOST_OUTPUTS


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"cells": [1]}', '{"cells": [{"source": 3}]}', "[" * 10_000]
)
def test_a_damaged_lab_shows_nothing(lab: Path, text: str):
    """A damaged lab, or a notebook without exercises, shows nothing."""
    lab.write_text(text)

    assert outputs_after_exercises(lab) == []


def test_a_missing_lab_shows_nothing(lab: Path):
    """A missing lab has no outputs and raises nothing."""
    assert outputs_after_exercises(lab) == []
