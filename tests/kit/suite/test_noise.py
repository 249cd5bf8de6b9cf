"""Tests deciding whether two results are equal, different, or too close to tell."""

import math
from collections.abc import Callable

import pytest
import torch

from autograder.suite.compare import agrees, matches_printed
from autograder.suite.noise import (
    APART,
    LEAST_MARGIN,
    NOISE,
    SAME,
    Agreement,
    agreement,
    is_same,
    rounded,
    scale_of,
    varies,
    watching_bounds,
)

X = torch.tensor([[1.0, -2.0], [0.25, 0.5]])


def test_the_margins_are_on_both_sides():
    """The bound for equal results has margins to the noise and to the bound for different ones."""
    assert LEAST_MARGIN * NOISE <= SAME
    assert LEAST_MARGIN * SAME <= APART


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        pytest.param(SAME, Agreement.SAME, id="noise"),
        pytest.param(2 * SAME, Agreement.UNDECIDED, id="in-between"),
        pytest.param(0.9 * APART, Agreement.UNDECIDED, id="almost-apart"),
        pytest.param(2 * APART, Agreement.DIFFERENT, id="apart"),
    ],
)
@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_distances_are_relative_to_the_largest_entry(
    distance: float, scale: float, expected: Agreement
):
    """An entry that is small because large terms cancel has the noise of the large ones."""
    left = torch.tensor([scale, 0.01], dtype=torch.float64)
    right = left + torch.tensor([0.0, 0.999 * distance * scale])

    assert agreement(left, right) is expected
    assert agreement(left.tolist(), right.tolist()) is expected
    assert agreement({"W_q": left}, {"W_q": right}) is expected


@pytest.mark.parametrize(
    ("distance", "same"),
    [
        pytest.param(0.5 * SAME, True, id="noise"),
        pytest.param(2 * SAME, False, id="in-between"),
        pytest.param(2 * APART, False, id="apart"),
    ],
)
def test_only_results_that_differ_by_noise_are_the_same(distance: float, same: bool):  # noqa: FBT001  # a case
    """Results whose agreement is undecided are not the same."""
    assert is_same(1.0, 1.0 + distance) is same


def test_of_several_answers_the_least_agreement_counts():
    """One different answer makes the runs differ, and one in between leaves them undecided."""
    between, apart = X + 2 * scale_of(X) * SAME, X + 1

    assert agreement([X, between], (X, X)) is Agreement.UNDECIDED
    assert agreement([between, apart], [X, X]) is Agreement.DIFFERENT


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(torch.tensor([math.nan, 1.0]), torch.tensor([0.0, 1.0]), id="nan"),
        pytest.param(torch.tensor([math.inf, 1.0]), torch.tensor([-math.inf, 1.0]), id="infinity"),
        pytest.param(torch.tensor([True]), torch.tensor([False]), id="booleans"),
        pytest.param([math.nan], [0.0], id="nan-of-json"),
        pytest.param(["nan"], ["inf"], id="texts-of-json"),
        pytest.param({"a": 1.0}, {"b": 1.0}, id="names"),
    ],
)
def test_no_noise_turns_one_into_the_other(left: object, right: object):
    """NaN, infinities, booleans and names are exact."""
    assert agreement(left, right) is Agreement.DIFFERENT
    assert agreement(left, left) is Agreement.SAME


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        pytest.param([0.125] * 8, False, id="constant"),
        pytest.param([0.125, 0.125 + 1e-7], False, id="constant-with-noise"),
        pytest.param([0.0, 1e-7], False, id="zeros-with-noise"),
        pytest.param([1e4, 1e4 + 1], False, id="large-constant-with-noise"),
        pytest.param([0.125, 0.126], True, id="numbers"),
        pytest.param([math.nan, 2.0], False, id="one-finite-number"),
        pytest.param([], False, id="nothing"),
    ],
)
def test_a_constant_may_have_noise(numbers: list[float], expected):
    """A constant answer that differs only by rounding still counts as constant."""
    assert varies(torch.tensor(numbers)) is expected


def test_numbers_are_rounded_by_the_scale_of_their_tensor():
    """Numbers are rounded to digits that every machine computes, by the tensor's scale."""
    assert rounded(0.123456789, 1.0, 6) == 0.123457
    assert rounded(0.123456789, 300.0, 6) == 0.1235
    assert rounded(-0.0, 1.0, 6) == 0.0
    assert rounded(math.nan, 1.0, 6) == "nan"


def test_the_distance_to_the_bound_is_kept():
    """The distance to the bound is that of the closest entry, in units of the noise."""
    with watching_bounds() as margins:
        agrees(torch.tensor([1.0, 1.5 + 1e-4]), torch.tensor([1.0, 1.5]))
        with pytest.raises(AssertionError):
            agrees(torch.tensor([1.0]), torch.tensor([2.0]))

    passed, failed = margins

    assert passed == pytest.approx((2.5e-4 - 1e-4) / (1.5 * NOISE), rel=1e-2)
    assert failed == pytest.approx((3e-4 - 1) / (2 * NOISE), rel=1e-2)


NUMBERS = torch.tensor([[0.0, 1.0, 2.0], [4.0, 3.75, -1.0]])


@pytest.mark.parametrize(
    ("choose", "apart"),
    [
        pytest.param(lambda: NUMBERS.argmax(None), 0.25 / 4, id="of-all"),
        pytest.param(lambda: NUMBERS.argmax(dim=-1), 0.25 / 4, id="of-each-row"),
        pytest.param(lambda: torch.argmax(NUMBERS[0]), 1 / 2, id="as-a-function"),
        pytest.param(lambda: torch.argmax(input=NUMBERS, axis=1), 0.25 / 4, id="by-keywords"),
        pytest.param(lambda: NUMBERS.argmin(-1), 1 / 4, id="of-the-smallest"),
        pytest.param(
            lambda: torch.stack([NUMBERS[0]] * 2).argmax(), LEAST_MARGIN * NOISE, id="of-equal-rows"
        ),
    ],
)
def test_the_distance_of_a_choice_is_kept(choose: Callable[[], object], apart: float):
    """Rounding may decide between the two best numbers of a choice, so their distance is kept."""
    with watching_bounds() as margins:
        choose()

    assert margins == [pytest.approx(apart / NOISE)]


@pytest.mark.parametrize(
    "choose",
    [
        pytest.param(lambda: torch.tensor([3, 3]).argmax(), id="whole-numbers"),
        pytest.param(lambda: torch.tensor([2.0]).argmax(), id="one-number"),
        pytest.param(lambda: torch.tensor(2.0).argmax(), id="no-axis"),
    ],
)
def test_a_choice_that_rounding_cannot_decide_has_no_distance(choose: Callable[[], object]):
    """Whole numbers are exact, and a single number is always chosen."""
    with watching_bounds() as margins:
        choose()

    assert margins == []


def test_an_exact_comparison_has_no_distance():
    """Equal tensors, and printed whole numbers, are never decided by rounding."""
    with watching_bounds() as margins:
        agrees(X, X)
        matches_printed(torch.tensor([1, 2]), torch.tensor([1, 2]), 0.0, "The result", 0)

    assert margins == []


def test_nothing_is_kept_unless_somebody_watches():
    """Distances are kept only if they are requested, not in grading."""
    with watching_bounds(on=False) as margins:
        agrees(torch.tensor([1.0, 1.5 + 1e-5]), torch.tensor([1.0, 1.5]))

    assert margins == []
