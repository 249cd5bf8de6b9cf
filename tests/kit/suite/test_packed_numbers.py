"""Tests that packed numbers are read exactly as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.suite.packed_numbers import PACKED, pack, unpack


@pytest.mark.parametrize(
    ("answer", "is_packed"),
    [
        pytest.param({"3": [0.25, -2.25, 6.0]}, True, id="decimals"),
        pytest.param({"2": [1.07e15, 0.0]}, True, id="large"),
        pytest.param({"2": [1e-9, 2.0]}, True, id="small"),
        pytest.param({"2": [1e-9, 1e9]}, False, id="too-far-apart"),
        pytest.param({"2": [0.1 + 0.2, 1.0]}, False, id="more-digits-than-a-rounded-number"),
        pytest.param({"3": ["nan", 1.5, "-inf"]}, True, id="not-finite"),
        pytest.param({"2": ["nan", 2147483647.0]}, False, id="too-large-with-nan"),
        pytest.param({"2": ["text", 1.0]}, False, id="text"),
        pytest.param({"int64 2": [1, 2]}, False, id="whole"),
        pytest.param({"0": []}, False, id="empty"),
        pytest.param({"parts": [0, 1]}, False, id="numbers-of-parts"),
        pytest.param([0.5, 1.5], False, id="list"),
        pytest.param(0.5, False, id="number"),
        pytest.param("0123456789ab", False, id="digest"),
    ],
)
def test_an_answer_is_read_as_it_was(answer: object, is_packed: bool):  # noqa: FBT001  # a parameter of pytest
    """Numbers that a whole number can represent go into the column, and others stay in place."""
    packed, column = pack([answer, {"1": [7.5]}])

    assert unpack(packed, column) == [answer, {"1": [7.5]}]
    assert (isinstance(packed[0], dict) and PACKED in packed[0]) is is_packed


@given(st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=4), max_size=5))
def test_every_number_is_kept_exactly(lists: list[list[float]]):
    """No number changes, of any size and with any digits."""
    answers = [{str(len(numbers)): numbers} for numbers in lists]

    assert unpack(*pack(answers)) == answers
