"""Tests the marks of tensors that are computed from results of the student's code."""

import torch

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
