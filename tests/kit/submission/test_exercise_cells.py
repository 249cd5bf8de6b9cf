"""Tests that a lab with ``%%exercise`` cells is read as the module that its student had."""

from pathlib import Path

import pytest

from autograder.course import Stage, load
from autograder.submission import Submission, collect
from autograder.submission.notebook import OPENING, exercise_cell, exercise_of
from tests.kit.factories import cell, notebook

MODULE = "dot_product_attention"
RIGHT = "def dot_product(a, b):\n    return sum(x * y for x, y in zip(a, b, strict=True))"


@pytest.fixture
def stage(pytestconfig: pytest.Config) -> Stage:
    """Stage 01 of the course."""
    return load(pytestconfig.rootpath).stage("01")


def submit(tmp_path: Path, stage: Stage, *sources: str) -> Submission:
    """Collect a lab whose code cells are an opening, a released cell and *sources*."""
    setup = 'import torch\n\nfrom autograder.student.lab import Lab\n\nlab = Lab("01")'
    cells = [cell("code", text) for text in (f"{OPENING}\n%pip install x", setup, *sources)]
    file = tmp_path / "01.ipynb"
    file.write_bytes(notebook(*cells))
    return next(collect(file, [stage], stage))


@pytest.mark.parametrize(
    ("text", "exercise"),
    [
        ("%%exercise double\ndef double(x): ...", "double"),
        ('\n\n%%exercise  "double" \r\ndef double(x): ...', "double"),
        ("%%exercise double", "double"),
        ("x = '%%exercise double'", ""),
        ("%%exercises double\n", ""),
        ("%%exercise\ndef double(x): ...", ""),
    ],
)
def test_the_first_line_names_the_exercise(text: str, exercise: str):
    """Only the magic of a cell makes it the cell of an exercise."""
    assert exercise_of(text.encode()) == exercise


def test_the_stub_takes_the_place_of_the_labs_own_code(tmp_path: Path, stage: Stage):
    """The stub without the written exercises is the first cell; the others keep their places."""
    submission = submit(tmp_path, stage, f"%%exercise dot_product\n{RIGHT}")

    base, *rest = submission.code.cells
    assert rest == [b"", f"%%exercise dot_product\n{RIGHT}".encode()]
    assert b"def scores_for_query" in base
    assert b"def dot_product" not in base
    assert submission.code.given == (1,)
    assert not submission.flags
    assert submission.notices[0] == (
        f"There is no {MODULE}.py, so the cells %%exercise of 01.ipynb were graded."
    )


def test_plain_cells_are_no_part_of_the_module(tmp_path: Path, stage: Stage):
    """Experiments in other cells were not in the module, and are not graded."""
    submission = submit(
        tmp_path,
        stage,
        f"%%exercise dot_product\n{RIGHT}",
        "def dot_product(a, b):\n    return 0  # tried",
        "dot_product = None",
    )

    assert submission.code.cells[3:] == (b"", b"")


def test_an_exercise_in_a_plain_cell_is_graded_too(tmp_path: Path, stage: Stage):
    """An exercise that only a plain cell defines is graded, with the plain cells around it."""
    plain = "def normalize_by_sum(scores):\n    return scores / total(scores)"
    submission = submit(
        tmp_path,
        stage,
        f"%%exercise dot_product\n{RIGHT}",
        "def total(scores):\n    return scores.sum()",
        plain,
        "def dot_product(a, b):\n    return 0",
    )

    base, *rest = submission.code.cells
    assert b"def normalize_by_sum" not in base
    assert rest[2:] == [b"def total(scores):\n    return scores.sum()", plain.encode(), b""]


def test_an_unchanged_stub_does_not_replace_code(tmp_path: Path, stage: Stage):
    """A cell with the stub, as the lab for a browser has it, counts as not written."""
    stub = exercise_cell(stage.stub.read_text("utf-8"), "dot_product")
    submission = submit(tmp_path, stage, f"%%exercise dot_product\n{RIGHT}", stub)

    assert submission.code.cells[3:] == (b"",)


def test_a_lab_without_code_asks_for_the_module(tmp_path: Path, stage: Stage):
    """A lab for a browser without code says so, and is not graded."""
    stub = exercise_cell(stage.stub.read_text("utf-8"), "dot_product")
    submission = submit(tmp_path, stage, stub)

    assert submission.code is None
    assert submission.problem == (
        f"No exercise is written in 01.ipynb, and there is no {MODULE}.py. "
        "Submit the one that holds your code."
    )
