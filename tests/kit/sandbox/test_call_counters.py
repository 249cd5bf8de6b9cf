"""The counters of torch functions and operators."""

import torch

from autograder.sandbox import call_counters
from autograder.sandbox.call_counters import FunctionCounter, OperatorCounter


def test_functions_are_counted_as_the_code_calls_them():
    """A method and a function of torch count by their names."""
    x = torch.ones(2, 2)
    with FunctionCounter() as functions:
        torch.softmax(x, dim=-1)
        x.softmax(dim=-1)
        torch.bmm(x[None], x[None])

    assert functions.counts["softmax"] == 2
    assert functions.counts["bmm"] == 1


def test_operators_are_counted_with_their_largest_input():
    """Inputs in a list count as well."""
    with OperatorCounter() as operators:
        torch.ones(6) * 2
        torch.cat([torch.ones(3), torch.ones(5)])

    assert operators.counts["aten.mul.Tensor 6"] == 1
    assert operators.counts["aten.cat.default 5"] == 1


def test_the_number_of_counted_names_is_limited(monkeypatch):
    """Beyond the limit calls still run."""
    monkeypatch.setattr(call_counters, "MAX_COUNTED", 1)
    with FunctionCounter() as functions:
        result = torch.ones(2).add(1).mul(3)

    assert len(functions.counts) == 1
    assert result.tolist() == [6.0, 6.0]
