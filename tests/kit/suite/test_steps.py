"""Tests the steps that lead to an answer."""

import torch

from autograder.suite.steps import StepCounter


def test_what_an_answer_does_not_need_is_not_a_step():
    """Operations that the answer does not use are not counted as its steps."""
    x = torch.eye(2)
    with StepCounter() as counter:
        weights = torch.softmax(x @ x.T, dim=-1)
        context = weights @ x

    assert len(counter.behind(x)) == 0
    assert len(counter.behind(weights)) == 3
    assert len(counter.behind(context)) == 4
    assert counter.count == 4


def test_an_assignment_to_a_part_is_a_step():
    """An assignment to a part is a step, and so are the steps behind the assigned value."""
    with StepCounter() as counter:
        rows = torch.zeros(2, 3)
        rows[0] = torch.ones(3) + 1

    assert len(counter.behind(rows)) == 4


def test_a_list_of_tensors_has_the_steps_of_all():
    """A list of tensors, such as heads to join, has the steps of all of them."""
    with StepCounter() as counter:
        halves = torch.arange(4.0).chunk(2)
        joined = torch.cat([half * 2 for half in halves])

    assert len(counter.behind(joined)) == 5
