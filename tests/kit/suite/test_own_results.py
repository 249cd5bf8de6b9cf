"""Tests the marks of tensors that are computed from results of the student's code."""

import pytest
import torch

from autograder.results import Status
from autograder.suite.checks import WrongAnswer
from autograder.suite.own_results import NAN, OwnTensor, is_own, marked, plain, told_of_nan

ONES = torch.ones(2, 3)
NO_EFFECT = "A change of a token has no clear effect."


def test_marks_follow_computations_and_stay_out_of_requests():
    """A tensor that is computed from a marked one is marked, at any depth; `plain` removes it."""
    both = marked({"a": [ONES, (ONES, 1)], "b": "text"})

    assert is_own(both)
    assert is_own([1, (both["a"][0] @ ONES.T).softmax(-1)])
    assert not is_own({"a": ONES, "b": [2.0]})
    assert type(plain(both["a"][0])) is torch.Tensor
    assert both["b"] == "text"


def test_a_marked_tensor_keeps_its_need_for_gradients():
    """The need for gradients is a property that checks compare."""
    assert marked(ONES.clone().requires_grad_()).requires_grad
    assert not marked(ONES).requires_grad
    assert isinstance(marked(ONES), OwnTensor)


@pytest.mark.parametrize("answers", [[ONES, {"x": (torch.nan * ONES,)}], [torch.tensor(torch.nan)]])
def test_a_law_says_of_nan_only_that_it_is_there(answers: list[object]):
    """With NaN, no comparison holds, so the sentence of a law might be false."""
    assert told_of_nan(WrongAnswer(Status.WRONG_VALUE, NO_EFFECT), answers).public == NAN


def test_other_sentences_stay_next_to_nan():
    """A comparison with tables, and an answer without NaN, keep their sentences."""
    compared = WrongAnswer(Status.WRONG_VALUE, NO_EFFECT)
    compared.public_suite_grid = lambda: None

    assert told_of_nan(compared, [torch.nan * ONES]) is compared
    assert told_of_nan(WrongAnswer(Status.WRONG_VALUE, NO_EFFECT), [ONES]).public == NO_EFFECT
    assert told_of_nan(WrongAnswer(Status.WRONG_SHAPE, NO_EFFECT), [torch.nan]).public == NO_EFFECT
