"""Tests comparing the answers of programs."""

import pytest
import torch

from autograder.diagnosis.answers import (
    differ,
    is_specific,
    last_tells,
    refuses,
    same_end,
    sample,
    tells,
)
from autograder.diagnosis.observation import Observation
from autograder.sandbox.faults import Raised

NUMBERS = torch.arange(12.0).reshape(3, 4)


def raised(text: str, line: str, kind: str = "ValueError") -> Raised:
    """Raise an exception in a quoted *line*."""
    message = f"f raised {kind} in line 3: {line}\n{text}"
    return Raised(kind, text, message, public="f raised an exception.", refusal=True)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(NUMBERS, True, id="numbers"),
        pytest.param(torch.ones(9), False, id="one-number"),
        pytest.param({"W": NUMBERS}, True, id="dictionary"),
        pytest.param("text", False, id="text"),
    ],
)
def test_few_or_equal_numbers_say_nothing(answer: object, *, expected: bool):
    """Few or equal numbers prove nothing, because they may agree by chance."""
    assert tells(answer) is expected


@pytest.mark.parametrize(
    ("verb", "answer", "expected"),
    [
        pytest.param("call", "a text", True, id="text"),
        pytest.param("call", "aaaa", False, id="one-character"),
        pytest.param("call", [[7, 8], (9, None)], True, id="nested-list"),
        pytest.param("method", {(1, 2): 3, (2, 2): 3, (3, 2): 3, (4, 2): 3}, True, id="pairs"),
        pytest.param("call", [0.1, 0.2, 0.3, 0.4], False, id="floats"),
        pytest.param("signature", ["a", "b", "c", "d"], False, id="names"),
        pytest.param("state", {"W": NUMBERS}, True, id="tensors"),
    ],
)
def test_plain_values_say_something_in_results(verb: str, answer: object, *, expected: bool):
    """Four different characters, entries or pairs of a result do not agree by chance."""
    assert last_tells(Observation(((verb, answer),), None)) is expected
    assert not last_tells(Observation((), None))


def test_keys_of_several_types_have_an_order():
    """The keys of a dictionary are compared in one order, although Python has none for them."""
    left = {1: NUMBERS, "a": NUMBERS, (1, 2): None}
    right = dict(reversed(left.items()))

    assert not differ(sample(left), sample(right))


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param(NUMBERS, False, id="equal"),
        pytest.param(NUMBERS + 1e-6, False, id="noise"),
        pytest.param(NUMBERS + 1, True, id="other-numbers"),
        pytest.param(NUMBERS.T, True, id="other-shape"),
        pytest.param(NUMBERS * torch.nan, False, id="nan-says-nothing"),
        pytest.param(None, False, id="no-tensor-says-nothing"),
    ],
)
def test_samples_show_that_answers_differ(other: torch.Tensor | None, *, expected: bool):
    """Samples of two answers may differ only if the answers differ."""
    assert differ(sample(NUMBERS), sample(other)) is expected


ANSWER, OTHER = ("call", NUMBERS), ("call", NUMBERS + 1)
STOPPED = raised("no", "raise ValueError(x)")


def test_two_refusals_end_alike_in_their_own_words():
    """Two refusals are equal in any words; a ValueError that Python itself raised is not one."""
    mine, theirs = (
        raised("too long", "raise ValueError('too long')"),
        raised("5", "raise ValueError(n)"),
    )

    assert refuses(mine)
    assert same_end(mine, theirs)
    assert not same_end(mine, raised("not enough values to unpack", "a, b = x.shape"))


@pytest.mark.parametrize(
    ("text", "specific"),
    [
        pytest.param("mat1 and mat2 (3x4 and 5x4)", True, id="a-product"),
        pytest.param("The size of tensor a (6) must match", True, id="any-two-tensors"),
        pytest.param("Dimension out of range, but got 2", False, id="any-axis"),
        pytest.param("something is wrong", False, id="nothing"),
    ],
)
def test_a_text_may_leave_open_which_step_it_is_about(text: str, *, specific: bool):
    """Texts of exceptions that fit every step with an axis are not specific."""
    error = Raised("RuntimeError", text, text, public="f raised an exception.")

    assert is_specific(error) is specific
