"""Tests the places of wrong entries, and the tables of the first wrong part of a tensor."""

import math

import pytest
import torch

from autograder.results import MAX_SIDE
from autograder.suite.wrong_entries import first_wrong_part, where_wrong

TOKENS = ("your", "journey")


def wrong_at(shape: tuple[int, ...], *indices: object) -> torch.Tensor:
    """Return a mask of *shape* with the entries at *indices*."""
    wrong = torch.zeros(shape, dtype=torch.bool)
    for index in indices:
        wrong[index] = True
    return wrong


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        pytest.param(wrong_at((4, 8, 2), slice(1, 4)), "Items 1 to 3 are wrong, item 0 is right.",
                     id="items"),
        pytest.param(wrong_at((4, 8, 2), (..., slice(5, 8), slice(0, 2))),
                     "Only rows after row 4 are wrong.", id="rows"),
        pytest.param(wrong_at((4, 8, 6), (..., 5)), "Only the last column is wrong.", id="column"),
        pytest.param(wrong_at((4, 8, 6), (..., slice(0, 6, 2))), "Only even columns are wrong.",
                     id="even"),
        pytest.param(wrong_at((4, 8, 6), (..., slice(1, 6, 2))), "Only odd columns are wrong.",
                     id="odd"),
        pytest.param(wrong_at((2, 3, 4, 5), (slice(None), 1)),
                     "Only index 1 of axis 1 is wrong.", id="middle-axis"),
        pytest.param(wrong_at((3, 5, 4), (slice(1, 3), slice(3, 5))),
                     "All wrong entries are in items 1 and 2 and in rows after row 2.",
                     id="two-axes"),
        pytest.param(wrong_at((4, 3), 0, 1, 3),
                     "Only rows other than row 2 are wrong.", id="all-but-one"),
        pytest.param(torch.ones(5, 5).triu(1).bool(), "Only entries above the diagonal are wrong.",
                     id="above"),
        pytest.param(torch.ones(2, 5, 5).tril().bool(),
                     "Only entries on and below the diagonal are wrong.", id="below"),
        pytest.param(torch.eye(4).bool(), "Only the diagonal is wrong.", id="diagonal"),
        pytest.param(wrong_at((4, 5, 6), (1, 2, 3)), "Only entry [1, 2, 3] is wrong.", id="one"),
        pytest.param(wrong_at((6,), slice(4, 6)), "Only entries after entry 3 are wrong.",
                     id="vector"),
        pytest.param(wrong_at((6,), 2), "Only entry 2 is wrong.", id="one-of-a-vector"),
    ],
)  # fmt: skip
def test_a_group_of_wrong_entries_has_a_sentence(wrong: torch.Tensor, sentence: str):
    """A sentence states the place if wrong entries form a group on an axis, or a triangle."""
    assert where_wrong(wrong) == f" {sentence}"


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(torch.ones(3, 4, 5).bool(), id="everywhere"),
        pytest.param(wrong_at((5, 6), (0, 1), (2, 4), (3, 2)), id="scattered"),
        pytest.param(wrong_at((4, 8, 6), (0, 3, 1), (1, 4, 5), (2, 4, 2)), id="few"),
        pytest.param(torch.ones(()).bool(), id="a-number"),
        pytest.param(torch.tensor([True]), id="one-entry"),
    ],
)
def test_scattered_entries_have_no_sentence(wrong: torch.Tensor):
    """Nothing is said if the wrong entries are everywhere, or form no group."""
    assert where_wrong(wrong) == ""


def laid_out(answer: torch.Tensor, expected: torch.Tensor, decimals: int = 4, tokens=TOKENS):
    """Return *answer* and *expected* side by side."""
    return first_wrong_part(answer, expected, answer != expected, decimals, tokens)


def test_a_matrix_is_shown_in_printed_digits():
    """A matrix is shown as expected, yours, difference and wrong entries, in rows."""
    found = laid_out(torch.tensor([[0.5, 2.25, 1.0]] * 2), torch.tensor([[0.5, 2.0, 1.0]] * 2), 2)

    assert found.expected == (("0.50", "2.00", "1.00"),) * 2
    assert found.yours == (("0.50", "2.25", "1.00"),) * 2
    assert found.difference == (("0.00", "0.25", "0.00"),) * 2
    assert found.wrong == ((False, True, False),) * 2


def test_an_axis_with_one_entry_per_token_has_their_names():
    """Only an axis with one entry for each token has the tokens' names."""
    found = laid_out(torch.zeros(2, 3), torch.ones(2, 3))

    assert (found.rows, found.columns) == (TOKENS, ())


def test_a_vector_is_one_row_without_a_name():
    """The columns of a vector may be tokens; its single row has no name."""
    found = laid_out(torch.zeros(2), torch.ones(2))

    assert found.expected == (("1.0000", "1.0000"),)
    assert (found.rows, found.columns) == ((), TOKENS)


def test_integers_have_no_decimals():
    """Integers, such as shapes and masks, are shown without decimals."""
    found = laid_out(torch.tensor([6, 3]), torch.tensor([6, 2]), 0)

    assert (found.yours, found.difference) == ((("6", "3"),), (("0", "1"),))


def test_nan_and_infinity_are_shown_as_such():
    """NaN and infinite entries are shown as such."""
    found = laid_out(torch.tensor([math.nan, math.inf, 1.0]), torch.zeros(3), 1)

    assert found.yours == (("nan", "inf", "1.0"),)
    assert found.difference == (("-", "-", "1.0"),)


@pytest.mark.parametrize(
    "shape", [pytest.param((), id="a-number"), pytest.param((0, 3), id="empty")]
)
def test_numbers_and_empty_tensors_have_no_table(shape: tuple[int, ...]):
    """A number and an empty tensor have no rows to show."""
    assert laid_out(torch.zeros(shape), torch.ones(shape)) is None


def test_equal_infinities_have_no_difference():
    """The difference of equal infinities is 0."""
    found = laid_out(torch.tensor([-math.inf, 2.0]), torch.tensor([-math.inf, 1.0]), 1)

    assert found.difference == (("0.0", "1.0"),)


def test_the_first_wrong_matrix_of_several_is_shown():
    """The first wrong matrix of a tensor with more axes is shown, with its index."""
    answer = torch.zeros(3, 2, 4, 2)
    answer[1, 1, 3] = 5
    found = laid_out(answer, torch.zeros(3, 2, 4, 2), 0)

    assert found.yours == (("0", "0"),) * 3 + (("5", "5"),)
    assert (found.part, found.corner) == ("[1, 1]", (0, 0))


def test_a_large_matrix_shows_the_part_around_its_first_wrong_entry():
    """At most eight rows and columns are shown, and the first wrong entry is among them."""
    answer = torch.zeros(2, 20, 9)
    answer[1, 14, 8] = 5
    found = laid_out(answer, torch.zeros(2, 20, 9), 0)

    assert (found.part, found.corner) == ("[1, 12:, 1:]", (12, 1))
    assert found.wrong[2] == (False,) * 7 + (True,)
    assert len(found.yours) == MAX_SIDE


def test_the_largest_matrix_is_shown():
    """Eight by eight entries are shown."""
    assert laid_out(torch.zeros(MAX_SIDE, MAX_SIDE), torch.ones(MAX_SIDE, MAX_SIDE)) is not None
