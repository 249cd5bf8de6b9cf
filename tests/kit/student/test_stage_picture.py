"""Tests the attention picture of each stage, computed by the stage's solution in a worker."""

from math import nan
from pathlib import Path

import pytest

from autograder.course import load
from autograder.sandbox.supervisor import ForkServer
from autograder.student.stage_picture import differs, picture_rows
from autograder.submission import Code

ROOT = Path(__file__).parents[3]
STAGES = load(ROOT).stages
SIZES = "21_tokens"  # its picture shows sizes of tokens instead of weights


def module(text: str) -> Code:
    """Return *text* as a learner's module."""
    return Code(kind="module", cells=(text.encode(),), label="module.py")


@pytest.mark.slow
@pytest.mark.parametrize("stage", [pytest.param(stage, id=stage.name) for stage in STAGES])
def test_every_row_of_a_picture_sums_to_one(stage, fork_server: ForkServer):
    """The weights of right code have a row and a column for each token; each row sums to one."""
    weights = picture_rows(fork_server, stage, module(stage.solution.read_text("utf-8")))

    assert weights is not None
    if stage.name == SIZES:
        assert all(max(row) <= 1.0 for row in weights)
    else:
        assert [sum(row) for row in weights] == pytest.approx([1.0] * len(weights), abs=1e-3)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("import os\nos._exit(1)", id="crash"),
        pytest.param("def causal_mean_softmax(x): return x[:, :3]", id="shape"),
    ],
)
def test_code_that_is_not_right_gives_no_picture(text: str, fork_server: ForkServer):
    """Wrong code gives no picture and raises no error."""
    assert picture_rows(fork_server, STAGES[1], module(text)) is None


def test_pictures_differ_if_their_printed_numbers_do():
    """A difference below a printed digit does not count, and a nan does."""
    right = ((0.25, 0.75), (0.5, 0.5))

    assert not differs(((0.26, 0.74), (0.5, 0.5)), right)
    assert differs(((0.25, 0.75), (0.4, 0.6)), right)
    assert differs(((0.25, 0.75), (nan, nan)), right)
