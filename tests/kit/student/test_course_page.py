"""Tests the page about a learner's whole course."""

from pathlib import Path

import pytest

from autograder.authoring.release import build
from autograder.course import Course, Handout, Stage, handouts, load
from autograder.errors import UsageError
from autograder.student.course_page import write_page
from autograder.student.predictions import checked
from autograder.student.progress import Progress, Task, tasks
from tests.kit.factories import cell, notebook

WEIGHTS = ((1.0, 0.0), (0.25, 0.75))
PICTURE = """
[picture]
tokens = ["a", "b"]
meaning = "Each row sums to one."
code = "def stage_picture(): return None"
"""


@pytest.fixture
def own(tiny: Course) -> Handout:
    """A learner's folder with one stage, which has a picture."""
    [stage] = tiny.every_stage
    file = stage.source / "stage.toml"
    file.write_text(f"{file.read_text()}\n{PICTURE}")
    build(load(tiny.root))
    return handouts(tiny.root / "assignments")


def draw(_stage: Stage) -> tuple[tuple[float, ...], ...]:
    """The weights that the learner's code computes."""
    return WEIGHTS


def progress(own: Handout, *passed: Task) -> Progress:
    """The learner's progress."""
    return Progress(own.root / "progress.json", passed={task.key for task in passed})


def test_a_finished_stage_has_its_picture(own: Handout, tmp_path: Path):
    """The page shows the picture of a finished stage, with its meaning and its numbers."""
    page = write_page(own, progress(own, *tasks(own)), tmp_path / "out", draw)

    shown = page.read_text("utf-8")

    assert page == tmp_path / "out" / "index.html"
    assert "<h1>What you have built</h1>" in shown
    assert ">0.75<" in shown
    assert "Each row sums to one." in shown


def test_a_stage_in_progress_has_none(own: Handout, tmp_path: Path):
    """A stage in progress shows the exercises that pass, and the next one, but no picture."""
    first, second, *_ = tasks(own)

    shown = write_page(own, progress(own, first), tmp_path, draw).read_text("utf-8")

    assert "What you have built so far" in shown
    assert ">0.75<" not in shown
    assert f'Next: <span class="code">{second.exercise.name}</span>' in shown


def test_without_a_pass_there_is_no_page(own: Handout, tmp_path: Path):
    """If no exercise passes, there is no page, and the error explains how to begin."""
    with pytest.raises(UsageError, match="Begin with: autograder next"):
        write_page(own, progress(own), tmp_path, draw)

    assert not (tmp_path / "index.html").exists()


def test_a_folder_that_is_a_file_is_an_error(own: Handout, tmp_path: Path):
    """A file with the name of the folder is an error and is not overwritten."""
    (tmp_path / "taken").write_text("mine")

    with pytest.raises(UsageError, match=r"taken can't be written: [A-Z][a-z ]+\.$"):
        write_page(own, progress(own, *tasks(own)), tmp_path / "taken", draw)

    assert (tmp_path / "taken").read_text() == "mine"


def test_the_page_runs_no_script_and_needs_no_network(own: Handout, tmp_path: Path):
    """The page's policy forbids scripts and the network."""
    shown = write_page(own, progress(own, *tasks(own)), tmp_path, draw).read_text("utf-8")

    assert "<script" not in shown
    assert "default-src 'none'" in shown


def test_guesses_are_compared_with_the_answers(own: Handout, tmp_path: Path):
    """Each guess has its confidence and says whether it was right; a sentence sums them up."""
    [stage] = own.stages
    choices = ("<b>all</b>", "none")
    made = checked("Which?", choices, 1, 80)
    asking = cell("code", f'lab.predict("Which?", {list(choices)}, name="moved")')
    output = {"output_type": "display_data", "data": {"text/plain": repr(made)}}
    stage.lab.write_bytes(notebook({**asking, "outputs": [output]}))
    (stage.source / "predictions.toml").write_text("[moved]\nright = 2\ntext = 'So.'\n")

    shown = write_page(own, progress(own, *tasks(own)), tmp_path, draw).read_text("utf-8")

    assert (
        "You guessed “&lt;b&gt;all&lt;/b&gt;” and were 80 % sure: not right; it is “none”." in shown
    )
    assert "0 of 1 guess was right (0 %), and you were 80 % sure on average" in shown


def test_without_guesses_nothing_is_said_about_them(own: Handout, tmp_path: Path):
    """The page has no empty section."""
    shown = write_page(own, progress(own, *tasks(own)), tmp_path, draw).read_text("utf-8")

    assert "guess" not in shown.partition("<main")[2]
