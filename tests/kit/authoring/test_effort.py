"""Tests the estimated minutes and the difficulty of exercises."""

from pathlib import Path

import pytest

from autograder.authoring import effort
from autograder.course import Course, Stage
from autograder.course_file import Effort
from tests.factories import SOLUTION, cell, grade_cell, notebook

LINES = "\n".join(f"    x = x + {number}" for number in range(13))
HEAD = 'def double(x):\n    """Twice x."""\n    ### BEGIN SOLUTION\n'
END = "\n    ### END SOLUTION\n"
SCALE = SOLUTION[SOLUTION.index("class Scale") :]


@pytest.fixture
def stage(tiny: Course) -> Stage:
    """The tiny stage with a lab: 400 words, the second exercise, 200 words and an answer."""
    lab = [
        cell("markdown", "word " * 400),
        cell("code", "given = 1  # nobody must read this"),
        grade_cell("double"),
        grade_cell("Scale"),
        cell("markdown", "word " * 200 + "\n### BEGIN MARK SCHEME\nsecret\n### END MARK SCHEME"),
        cell("markdown", "", "answer", grade=True, solution=True),
    ]
    found = tiny.stages[0]
    found.lab.write_bytes(notebook(*lab))
    return found


def test_reading_counts_at_200_words_a_minute(stage: Stage):
    """Text above the grade cell counts for the exercise, and the rest for the stage."""
    measured = effort.measure(stage, 'def double(x):\n    """Twice."""\n')

    assert measured.exercises["double"].minutes == round(2.0 + 4 / 200 + 0.5)
    assert measured.reading == 3
    assert measured.minutes == round(2.0 + 1.0 + 0.5 + 1.0 + effort.ANSWER_MINUTES)


def test_text_above_the_exercises_of_the_stub_counts_for_the_first(stage: Stage):
    """The text at the top of the stub counts for the first exercise."""
    long = '"""' + "rule " * 1000 + '"""\ndef double(x): ...\n'
    short, longer = (effort.measure(stage, stub) for stub in ("def double(x): ...\n", long))

    assert longer.exercises["double"].minutes == short.exercises["double"].minutes + 5
    assert longer.exercises["Scale"] == short.exercises["Scale"]


def test_a_longer_solution_takes_longer_and_is_harder(stage: Stage):
    """Six statements take half a minute each, and each further one takes a minute."""
    stage.solution.write_text(f"{HEAD}{LINES}{END}\n\n{SCALE}", "utf-8")
    measured = effort.measure(stage, "")

    assert measured.exercises["double"] == Effort(minutes=2 + 3 + 7, difficulty=3)
    assert measured.exercises["Scale"] == Effort(minutes=1, difficulty=1)


def test_a_wrapped_line_counts_once(stage: Stage):
    """A statement that a formatter wraps counts once."""
    before = effort.measure(stage, "")
    text = stage.solution.read_text("utf-8")
    wrapped = text.replace("return 2 * x", "return (\n        2 * x\n    )")
    stage.solution.write_text(wrapped, "utf-8")

    assert effort.measure(stage, "") == before


def test_a_stage_without_a_lab_is_measured(stage: Stage):
    """A stage without a lab, or with a broken one, is measured by its stub and solution."""
    stage.lab.write_text("no notebook", "utf-8")
    broken = effort.measure(stage, "")
    stage.lab.unlink()

    assert effort.measure(stage, "") == broken
    assert broken.minutes == 2


@pytest.mark.parametrize(("statements", "marks"), [(1, 1), (6, 1), (7, 2), (12, 2), (13, 3)])
def test_marks_go_from_one_to_three(statements: int, marks: int):
    """An exercise has one mark up to six statements and two up to twelve."""
    assert effort.difficulty(statements) == marks


def test_students_receive_the_figures(stage: Stage, tmp_path: Path):
    """A stage reads the built figures and shows them in a few characters."""
    stage.effort_file.write_bytes(effort.encode(effort.measure(stage, "")))
    without = Stage(tmp_path, stage.name, stage.file)

    assert str(stage.effort_of(stage.exercises[0])) == "●○○ 2 min"
    assert str(without.effort_of(stage.exercises[0])) == ""
