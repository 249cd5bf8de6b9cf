"""Tests that the requests of a check are kept, with the replies and their tensors."""

import torch

from autograder.sandbox.tensors import decode_tensor
from autograder.suite.in_process import (
    MAX_TENSORS,
    LocalChannel,
    RecordingChannel,
    TranscribingChannel,
)
from autograder.suite.student_proxy import Student

SOURCE = b"""
import torch

def weights(x):
    return torch.softmax(x @ x.T, dim=-1)

def many(x):
    for _ in range(1000):
        x = x + 1
    return x
"""


def test_each_request_is_kept_with_its_reply():
    """Each request is recorded with its reply, which the student receives unchanged."""
    channel = TranscribingChannel(LocalChannel("own", SOURCE))
    answer = Student(channel).call("weights", torch.eye(2))
    [exchange] = channel.exchanges

    assert exchange.request.verb == "call"
    assert torch.equal(decode_tensor(exchange.reply.value), answer)
    assert not exchange.tensors
    assert not channel.transcript.used_source


def test_a_look_at_the_source_is_kept():
    """The record of a check includes its requests for the source."""
    channel = TranscribingChannel(LocalChannel("own", SOURCE))

    assert channel.definitions
    assert channel.transcript.used_source


def test_intermediate_tensors_are_recorded_by_function():
    """Intermediate tensors are recorded by function, in a list for each request."""
    channel = RecordingChannel(LocalChannel("own", SOURCE))
    x = torch.eye(2)
    Student(channel).call("weights", x)
    Student(channel).has("weights")
    steps = dict(channel.exchanges[0].tensors)

    assert torch.equal(steps["softmax"], x.softmax(-1))
    assert {"__matmul__", "matmul"} & steps.keys()
    assert [exchange.request.verb for exchange in channel.exchanges] == ["call", "has"]


def test_only_so_many_tensors_are_recorded():
    """The number of recorded tensors is bounded, even for a loop."""
    channel = RecordingChannel(LocalChannel("own", SOURCE))
    Student(channel).call("many", torch.zeros(1))

    assert len(channel.exchanges[0].tensors) == MAX_TENSORS


def test_recorded_tensors_are_not_counted_as_operators():
    """The counts of operators are those of the code alone, as in a submission."""
    plain = TranscribingChannel(LocalChannel("own", SOURCE))
    recorded = RecordingChannel(LocalChannel("own", SOURCE))
    for channel in (plain, recorded):
        Student(channel).operators("weights", torch.eye(2))

    assert plain.exchanges[0].reply == recorded.exchanges[0].reply
    assert recorded.exchanges[0].tensors
