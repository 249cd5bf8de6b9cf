"""Tests the descriptions of code that follows the conventions of a different course."""

from collections.abc import Callable

import pytest
import torch

from autograder.diagnosis import course_conventions
from autograder.sandbox.faults import Fault
from autograder.suite.in_process import LocalChannel, RecordingChannel
from autograder.suite.student_proxy import Student

SOLUTION = """
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x, mask=None):
        return self.W(x)

def hide(scores, mask):
    return scores.masked_fill(mask == 0, float("-inf")).softmax(-1)

def hide_padding(scores, mask):
    return scores.masked_fill(~mask.unsqueeze(-2), float("-inf")).softmax(-1)

def hide_future(scores):
    return scores.masked_fill(torch.ones_like(scores).triu(1) == 1, float("-inf")).softmax(-1)
"""
MASK = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
SCORES = torch.arange(12.0).reshape(2, 2, 3)
PADDING = torch.tensor([[True, True, False], [True, False, False]])
NUMBERS = "The mask argument holds the number 1 where a key is visible, and 0 where it is hidden."
BOOLEANS = "The mask argument holds True where a key is visible, and False where it is hidden."


def sentence(code: str, check: Callable[[Student], object], owner: str = "Layer") -> str:
    """Run *check* on the solution and on *code*; describe the exception that ends it."""
    solution = LocalChannel("ours", SOLUTION.encode())
    recording = RecordingChannel(solution)
    check(Student(recording))
    student = Student(LocalChannel("theirs", f"{SOLUTION}\n{code}".encode()))
    with pytest.raises(Fault) as raised:
        check(student)
    exchange = recording.exchanges[len(student.observed)]
    found = course_conventions.find_clash(raised.value, exchange, owner)
    return found.sentence if found else ""


def layer(arguments: str, forward: str = "self, x, mask=None") -> str:
    """Return a class `Layer` whose methods take other arguments."""
    return (
        "class Layer(nn.Module):\n"
        f"    def __init__({arguments}):\n"
        "        super().__init__()\n"
        f"    def forward({forward}):\n"
        "        return x\n"
    )


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("scores.masked_fill(mask, float('-inf'))", id="masked_fill"),
        pytest.param("scores.masked_fill_(mask, float('-inf'))", id="in-place"),
        pytest.param("scores.masked_fill(~mask, float('-inf'))", id="inverted"),
        pytest.param("torch.where(mask, scores, float('-inf'))", id="where"),
        pytest.param("scores.masked_fill(mask & mask, 0)", id="and"),
        pytest.param("scores[mask]", id="index"),
    ],
)
def test_a_mask_of_numbers_is_explained(body: str):
    """The meaning of a mask's numbers is taken from the solution's scores."""
    code = f"def hide(scores, mask):\n    return {body}\n"

    assert sentence(code, lambda student: student.call("hide", SCORES, MASK)) == NUMBERS


def test_a_mask_of_booleans_is_explained():
    """A mask without an axis for the queries hides the same keys from all of them."""
    code = "def hide_padding(scores, mask):\n    return scores + (1 - mask) * float('-inf')\n"

    assert sentence(code, lambda student: student.call("hide_padding", SCORES, PADDING)) == BOOLEANS


def test_a_mask_of_the_students_own_is_not_the_one_that_is_passed():
    """If the check passes no mask, the sentence is about the mask in the student's code."""
    code = "def hide_future(scores):\n    return scores.masked_fill(torch.ones(2, 3), 0)\n"
    said = sentence(code, lambda student: student.call("hide_future", SCORES))

    assert said == "This step needs a mask of booleans, but your mask holds numbers."


def test_other_names_of_parameters_are_explained():
    """Parameters with names other than those that the check sets are explained."""
    said = sentence(
        layer("self, d_in, d_out"),
        lambda student: student.new("Layer", 3, 2).load({"W.weight": torch.ones(2, 3)}),
    )

    assert said.startswith("The parameters of Layer are named W.weight in this course")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("raise TypeError('hide takes my secret')", id="own-text"),
        pytest.param("scores @ mask", id="shapes"),
        pytest.param("1 / 0", id="another-type"),
        pytest.param("(lambda x: x)(1, 2)", id="another-function"),
    ],
)
def test_nothing_is_said_about_other_exceptions(body: str):
    """An exception that shows no wrong convention is not explained."""
    code = f"def hide(scores, mask):\n    {body}\n"

    assert sentence(code, lambda student: student.call("hide", SCORES, MASK), "hide") == ""
