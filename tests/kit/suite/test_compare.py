"""Comparing answers: the first thing that is wrong is named, and hidden values stay hidden."""

import pytest
import torch

from autograder.results import Status
from autograder.sandbox.protocol import OpaqueValue
from autograder.suite.checks import WrongAnswer
from autograder.suite.compare import agrees, number_agrees, reads_like

NAN, INF = torch.nan, torch.inf
EXPECTED = torch.tensor([[0.1234, 5.0], [7.0, -3.0]])


def refused(actual: object, expected: torch.Tensor = EXPECTED) -> WrongAnswer:
    """How *actual* is refused where *expected* should be."""
    with pytest.raises(WrongAnswer) as caught:
        agrees(actual, expected, "The context")
    return caught.value


@pytest.mark.parametrize(
    ("actual", "status", "words"),
    [
        pytest.param(None, Status.WRONG_TYPE, "without `return`", id="none"),
        pytest.param([[1.0]], Status.WRONG_TYPE, "of type list", id="list"),
        pytest.param(OpaqueValue("a set"), Status.WRONG_TYPE, "is a set", id="opaque"),
        pytest.param(torch.full((3,), NAN).double(), Status.WRONG_SHAPE, "(3,)", id="axes"),
        pytest.param(torch.full((2, 3), NAN).double(), Status.WRONG_SHAPE, "(2, 3)", id="shape"),
        pytest.param(torch.full((2, 2), NAN).double(), Status.WRONG_TYPE, "float64", id="dtype"),
        pytest.param(torch.full((2, 2), NAN), Status.NOT_FINITE, "NaN", id="nan"),
        pytest.param(torch.full((2, 2), INF), Status.NOT_FINITE, "infinite", id="infinite"),
        pytest.param(EXPECTED + 1, Status.WRONG_VALUE, "4 of 4 entries", id="value"),
    ],
)
def test_the_first_thing_that_is_wrong_is_named(actual: object, status: Status, words: str):
    """Type, shape, dtype, finite, value: an answer wrong in all is told the first."""
    wrong = refused(actual)

    assert wrong.status is status
    assert words in wrong.message


@pytest.mark.parametrize(
    "actual",
    [
        pytest.param(None, id="type"),
        pytest.param(torch.ones(7), id="axes"),
        pytest.param(torch.ones(2, 7), id="shape"),
        pytest.param(torch.full((2, 2), NAN), id="nan"),
        pytest.param(EXPECTED + 0.777, id="value"),
    ],
)
def test_the_public_sentence_holds_no_value(actual: object):
    """Beside a hidden check no number, expected or given, is shown."""
    public = refused(actual).public

    assert "The context" in public
    assert not {"0.1234", "0.7770", "7", "5.0", "-3"} & set(public.replace(",", "").split())


def test_a_number_is_kept_out_of_the_public_sentence():
    """A hidden number is as secret as a hidden tensor."""
    with pytest.raises(WrongAnswer) as caught:
        number_agrees(3.25, 7.5, 0.1)

    assert "3.2500" in caught.value.message
    assert not any(letter.isdigit() for letter in caught.value.public)


def test_wrong_rows_are_named():
    """Where a whole row is right, it isn't among the wrong ones."""
    actual = EXPECTED.clone()
    actual[1] += 1

    assert "(row 1)" in refused(actual).message


@pytest.mark.parametrize(
    ("off", "right"),
    [
        pytest.param(0.0, True, id="exact"),
        pytest.param(0.5e-4, True, id="half-a-unit"),
        pytest.param(-0.5e-4, True, id="half-a-unit-below"),
        pytest.param(1e-4, False, id="a-whole-unit"),
        pytest.param(NAN, False, id="nan"),
    ],
)
def test_printed_digits_are_met_to_half_a_unit(off: float, right: bool):  # noqa: FBT001  # a case
    """What would print alike is right, what would print otherwise is wrong."""
    actual = torch.tensor([0.1234, 100.0]) + torch.tensor([off, 0.0])
    try:
        reads_like(actual, [0.1234, 100.0])
    except WrongAnswer:
        accepted = False
    else:
        accepted = True

    assert accepted is right


def test_large_printed_numbers_know_no_ratio():
    """A relative error that is small is still another print."""
    with pytest.raises(WrongAnswer):
        reads_like(torch.tensor([1000.01]), [1000.0], decimals=4)


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param(EXPECTED, id="floats"),
        pytest.param(torch.tensor([[-INF, 1.0], [INF, 0.0]]), id="infinities"),
        pytest.param(torch.tensor([[True, False], [True, True]]), id="truth-values"),
        pytest.param(torch.tensor([[1, 2], [3, 4]]), id="whole-numbers"),
        pytest.param(torch.tensor([[1 + 2j]]), id="complex"),
        pytest.param(torch.empty(0, 2), id="empty"),
        pytest.param(torch.tensor(2.5), id="no-axis"),
        pytest.param(EXPECTED.clone().requires_grad_(), id="in-a-graph"),
    ],
)
def test_equal_tensors_agree(expected: torch.Tensor):
    """Whatever the kind, the same is right, and so is float noise."""
    agrees(expected.clone(), expected)
    if expected.is_floating_point():
        agrees(expected * (1 + 1e-6), expected)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        pytest.param(torch.tensor([INF]), torch.tensor([-INF]), id="other-infinity"),
        pytest.param(torch.tensor([1.0]), torch.tensor([-INF]), id="finite-for-infinite"),
        pytest.param(torch.tensor([True]), torch.tensor([False]), id="truth-value"),
        pytest.param(torch.tensor([1 + 1j]), torch.tensor([1 + 2j]), id="complex"),
        pytest.param(torch.tensor([0]).byte(), torch.tensor([1]).byte(), id="bytes"),
    ],
)
def test_other_values_are_refused(actual: torch.Tensor, expected: torch.Tensor):
    """Infinities, truth values and whole numbers are compared as what they are."""
    assert refused(actual, expected).status in {Status.WRONG_VALUE, Status.NOT_FINITE}


@pytest.mark.parametrize(
    "actual",
    [
        pytest.param(2.5, id="float"),
        pytest.param(torch.tensor(2.5), id="tensor"),
        pytest.param(torch.tensor(2.5, dtype=torch.float64), id="float64"),
    ],
)
def test_one_number_may_be_a_float_or_a_tensor(actual: object):
    """`x.item()` and `x` are one answer."""
    number_agrees(actual, 2.5, 1e-4)


@pytest.mark.parametrize(
    ("actual", "status"),
    [
        pytest.param(True, Status.WRONG_TYPE, id="truth-value"),
        pytest.param("2.5", Status.WRONG_TYPE, id="text"),
        pytest.param(torch.tensor([2.5]), Status.WRONG_SHAPE, id="one-axis"),
        pytest.param(NAN, Status.WRONG_VALUE, id="nan"),
        pytest.param(2.6, Status.WRONG_VALUE, id="another"),
    ],
)
def test_what_is_not_that_number_is_refused(actual: object, status: Status):
    """A number in a list, as text or as truth is none."""
    with pytest.raises(WrongAnswer) as caught:
        number_agrees(actual, 2.5, 1e-4)

    assert caught.value.status is status
