"""Tests the values of answers, which may be forged."""

import torch

from autograder.suite.answer_values import read_gradients, read_operators, read_tensors


def test_what_is_not_a_tensor_is_left_out():
    """Values in a forged answer that are not tensors are left out."""
    found = read_tensors({"weight": torch.ones(2), "bias": "none", "size": 3})

    assert list(found) == ["weight"]


def test_gradients_are_divided_into_inputs_and_parameters():
    """Gradients are divided into those of inputs and of parameters, or None."""
    answer = {"output": 1.0, "gradients": {"input 0": torch.ones(1), "weight": None}}
    found = read_gradients(answer, 2)

    assert found.output == 1.0
    assert found.inputs == (torch.ones(1), None)
    assert found.parameters == {"weight": None}


def test_operators_are_counted_by_name_and_size():
    """A count that is not a whole number is left out."""
    answer = {"functions": {"softmax": 1, "mean": "2"}, "operators": {"mm 16": 2, "add x": 1}}
    found = read_operators(answer, (torch.ones(1),))

    assert found.functions == {"softmax": 1}
    assert found.operators == {("mm", 16): 2, ("add", 0): 1}
    assert found.total == 3
    assert not found.is_idle


def test_the_products_of_one_width_are_added_up():
    """A product and the transposed one give as many numbers; forged sizes are left out."""
    products = {"5 4 3": 2, "3 4 5": 1, "5 2 3": 9, "5 4": 1, "5 x 3": 1, "9" * 30 + " 4 3": 1}
    found = read_operators({"products": products, "largest": "7"}, ())

    assert found.products_over(4) == 45
    assert found.largest == 0


def test_a_tensor_in_a_tuple_or_a_dictionary_is_work_to_do():
    """Code that gets a tensor in a container and runs no operator counts as idle."""
    assert read_operators(None, ((torch.ones(1), 2),)).is_idle
    assert read_operators(None, ({"keys": [torch.ones(1)]},)).is_idle


def test_code_that_does_nothing_with_a_tensor_is_idle():
    """Code without a tensor is not idle, because it may return a kept result."""
    assert read_operators(None, (torch.ones(1),)).is_idle
    assert not read_operators(None, (3,)).is_idle
