"""Mistakes in shapes."""

import pytest

from autograder.diagnosis.mistakes import on_shapes
from tests.kit.diagnosis.mistakes.conftest import kinds_of, sentences_of

SPLIT = """
def wanted(x: Tensor):
    H, d = 3, 4
    scores = x.view(1, 2, H, d)
    return scores.transpose(1, 2).reshape(1, 2, H * d)
"""
CALLED = """
def wanted(x: Tensor, y: Tensor, rows: int, columns: int):
    return made(x, rows, columns) + y
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            SPLIT,
            {
                "sizes_exchanged",
                "heads_mixed",
                "batch_mixed",
                "heads_repeated",
                "nothing_returned",
                "part_returned",
                "axis_too_many",
                "axes_joined",
                "transposed",
            },
            id="split",
        ),
        pytest.param(CALLED, {"arguments_exchanged"}, id="called"),
    ],
)
def test_a_step_has_its_kinds_of_mistake(code: str, expected: set[str]):
    """Each rule fits a step of the solution, and every program that it makes compiles."""
    assert expected <= kinds_of(on_shapes, code)


def test_sizes_are_said_by_what_they_count():
    """A size that no name explains is one of two."""
    said = sentences_of(on_shapes, SPLIT)

    assert "The numbers of heads and of features of a head are exchanged." in said
    assert "Two sizes of the shape of `x` are exchanged." in said


def test_other_code_has_none():
    """No rule fits what it does not know."""
    assert kinds_of(on_shapes, "def wanted(n: int):\n    pass\n") == set()
