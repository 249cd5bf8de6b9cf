"""Changed calls: what is asked of a module again, and with which numbers."""

from collections.abc import Callable

import torch

from autograder.diagnosis.changed_calls import UNCHANGED, Call, Change, find_call
from autograder.sandbox.protocol import TensorValue, Value
from autograder.sandbox.tensors import decode_tensor
from autograder.suite.in_process import LocalChannel, RecordingChannel
from autograder.suite.student_proxy import RemoteModule, Student

SOLUTION = b"""
from torch import nn

class Layer(nn.Linear):
    pass

def mix(x, mask, scale=1.0):
    return x * mask * scale

def width(layer):
    return layer.in_features
"""
HIDDEN = torch.tensor([[1.5, -2.5], [3.5, 4.5]])
MASK = torch.eye(2)


def tensor(value: Value) -> torch.Tensor:
    """Decode a tensor of a request."""
    assert isinstance(value, TensorValue)
    return decode_tensor(value)


def last_call(ask: Callable[[Student], object]) -> Call | None:
    """Return the call that repeats the last request of *ask*."""
    solution = LocalChannel("changed", SOLUTION)
    recording = RecordingChannel(solution)
    student = Student(recording)
    ask(student)
    handles = [
        answer.handle if isinstance(answer, RemoteModule) else -1 for _, answer in student.observed
    ]
    return find_call(solution, [one.request for one in recording.exchanges], handles)


def test_hidden_numbers_are_never_used_again():
    """Only shapes, masks and constants of the check are."""
    call = last_call(lambda student: student.call("mix", HIDDEN, MASK, scale=2.0))
    assert call is not None
    (request,) = call.requests(UNCHANGED)
    x, mask = map(tensor, request.args)

    assert x.shape == HIDDEN.shape
    assert not (x == HIDDEN).any()
    assert torch.equal(mask, MASK)
    assert request.kwargs == {"scale": 2.0}


def test_one_tensor_is_changed_at_a_time():
    """A row of the argument, and nothing else."""
    call = last_call(lambda student: student.call("mix", HIDDEN, MASK))
    assert call is not None
    before, after = (
        list(map(tensor, call.requests(one)[0].args)) for one in (UNCHANGED, Change("row", "x", 1))
    )

    assert (before[0] == after[0]).all(1).tolist() == [True, False]
    assert torch.equal(before[1], after[1])


def test_a_module_is_constructed_again_with_numbers_for_its_parameters():
    """What the check loaded into it is not used."""
    load = {"weight": torch.ones(3, 2)}
    call = last_call(lambda student: student.new("Layer", 2, 3).load(load)(HIDDEN))
    assert call is not None
    assert call.new is not None

    assert call.new.name == "Layer"
    assert call.parameters == {"weight", "bias"}
    assert [one.verb for one in call.start] == ["new", "mode", "load"]
    assert not (tensor(call.start[2].kwargs["weight"]) == 1).any()


def test_a_changed_parameter_is_put_back():
    """So the next change starts from the same module."""
    call = last_call(lambda student: student.new("Layer", 2, 3)(HIDDEN))
    assert call is not None
    change = Change("times", "weight", 2)
    changing, _, undoing = call.requests(change)

    assert torch.equal(tensor(changing.kwargs["weight"]), 2 * call.tensors["weight"])
    assert torch.equal(tensor(undoing.kwargs["weight"]), call.tensors["weight"])


def test_a_call_with_a_module_is_not_repeated():
    """Nor is a request that is no call."""
    assert last_call(lambda student: student.call("width", student.new("Layer", 2, 3))) is None
    assert last_call(lambda student: student.new("Layer", 2, 3).parameters()) is None
