"""Small tensors side by side."""

import math

import pytest
import torch

from autograder.suite.tensor_grid import MAX_SIDE, grid

TOKENS = ("your", "journey")


def laid_out(answer: torch.Tensor, expected: torch.Tensor, decimals: int = 4, tokens=TOKENS):
    """Lay *answer* out beside *expected*."""
    return grid(answer, expected, answer != expected, decimals, tokens)


def test_a_matrix_is_laid_out_in_digits_as_printed():
    """Expected, yours, their difference and where it is wrong, each as rows."""
    found = laid_out(torch.tensor([[0.5, 2.25, 1.0]] * 2), torch.tensor([[0.5, 2.0, 1.0]] * 2), 2)

    assert found.expected == (("0.50", "2.00", "1.00"),) * 2
    assert found.yours == (("0.50", "2.25", "1.00"),) * 2
    assert found.difference == (("0.00", "0.25", "0.00"),) * 2
    assert found.wrong == ((False, True, False),) * 2


def test_an_axis_with_one_entry_per_token_is_named_by_them():
    """The other axis, of another size, has no names."""
    found = laid_out(torch.zeros(2, 3), torch.ones(2, 3))

    assert (found.rows, found.columns) == (TOKENS, ())


def test_a_vector_is_one_row_without_a_name():
    """Its columns may be tokens; the row is none."""
    found = laid_out(torch.zeros(2), torch.ones(2))

    assert found.expected == (("1.0000", "1.0000"),)
    assert (found.rows, found.columns) == ((), TOKENS)


def test_whole_numbers_stay_whole():
    """Shapes and masks are printed without decimals."""
    found = laid_out(torch.tensor([6, 3]), torch.tensor([6, 2]), 0)

    assert (found.yours, found.difference) == ((("6", "3"),), (("0", "1"),))


def test_nan_and_infinity_are_shown_as_such():
    """What is no number stands where it stands."""
    found = laid_out(torch.tensor([math.nan, math.inf, 1.0]), torch.zeros(3), 1)

    assert found.yours == (("nan", "inf", "1.0"),)
    assert found.difference == (("nan", "inf", "1.0"),)


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((), id="a-number"),
        pytest.param((2, 2, 2), id="three-axes"),
        pytest.param((0, 3), id="empty"),
        pytest.param((MAX_SIDE + 1, 2), id="too-many-rows"),
        pytest.param((2, MAX_SIDE + 1), id="too-many-columns"),
    ],
)
def test_what_no_eye_compares_is_not_laid_out(shape: tuple[int, ...]):
    """A grid is for what a page shows at once."""
    assert laid_out(torch.zeros(shape), torch.ones(shape)) is None


def test_the_largest_grid_is_still_shown():
    """Eight by eight fits."""
    assert laid_out(torch.zeros(MAX_SIDE, MAX_SIDE), torch.ones(MAX_SIDE, MAX_SIDE)) is not None
