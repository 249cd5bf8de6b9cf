"""Tests the marks of tensors that are computed from results of the student's code."""

import pytest
import torch

from autograder.suite.checks import WrongAnswer
from autograder.suite.compare import agrees, tensor_like
from autograder.suite.own_results import OwnTensor, is_own, mark, unmark

ONES = torch.ones(2, 3)


def test_marks_follow_computations_and_stay_out_of_requests():
    """A tensor that is computed from a marked one is marked, at any depth; `unmark` removes it."""
    both = mark({"a": [ONES, (ONES, 1)], "b": "text"})

    assert is_own(both)
    assert is_own([1, (both["a"][0] @ ONES.T).softmax(-1)])
    assert not is_own({"a": ONES, "b": [2.0]})
    assert type(unmark(both["a"][0])) is torch.Tensor
    assert both["b"] == "text"


def test_a_marked_tensor_keeps_its_need_for_gradients():
    """The need for gradients is a property that checks compare."""
    assert mark(ONES.clone().requires_grad_()).requires_grad
    assert not mark(ONES).requires_grad
    assert isinstance(mark(ONES), OwnTensor)


def test_rows_are_told_of_what_the_code_returned_and_not_of_a_part():
    """In a table that a check makes from a result, a row has another number, or is something else.

    A tensor without its graph is still the one that the code returned.
    """
    wanted = torch.arange(40.0).reshape(8, 5)
    given = wanted.clone().requires_grad_()
    with torch.no_grad():
        given[6] += 1
    result = mark(given)

    with pytest.raises(WrongAnswer, match=r"Only row 6 is wrong"):
        agrees(result, wanted)
    with pytest.raises(WrongAnswer, match=r"Only row 6 is wrong"):
        agrees(tensor_like(result, (8, 5)), wanted)
    with pytest.raises(WrongAnswer) as part:
        agrees(result[2:], wanted[2:])
    assert part.value.message.endswith("in 5 of 30 entries.")
