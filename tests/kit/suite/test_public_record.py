"""Tests the record of numbers next to a public suite."""

import contextlib
import math
from pathlib import Path

import pytest
import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.errors import CourseError, UsageError
from autograder.sandbox.faults import Fault
from autograder.suite import public_record, records
from autograder.suite.documented import DocumentedTensor
from autograder.suite.in_process import LocalChannel, ReferenceChannel, TranscribingChannel
from autograder.suite.public_record import PublicRecord
from autograder.suite.student_proxy import Student

SOURCE = b"""
def same(x):
    return x

def raises(x):
    raise KeyError("no")

def says(x):
    return ["text", 1]

def gives_a_range(x):
    return range(3)

def gives_pairs(x):
    return {(1, "b"): [b"x", 2**70], frozenset({None}): {0.1234567891: {3}}}

class Factor(__import__("torch").nn.Module):
    def __init__(self):
        super().__init__()
        self.secret_factor = __import__("torch").nn.Parameter(__import__("torch").ones(1))
"""
TENSORS = [
    pytest.param(torch.tensor([[0.5, -math.inf, math.inf]]), id="infinities"),
    pytest.param(torch.tensor([[1e4, -0.5], [12.25, 0.0]]), id="large"),
    pytest.param(torch.tensor([1, 2]), id="whole-numbers"),
    pytest.param(torch.tensor([True, False]), id="truth"),
    pytest.param(torch.tensor(1.5, dtype=torch.float64), id="one-double"),
    pytest.param(torch.empty(0, 3), id="empty"),
    pytest.param(torch.tensor([0.123456789, 1e-9]).round(decimals=6), id="rounded"),
]


def recorded(name: str, *args: object) -> PublicRecord:
    """Record the reply of the solution's function *name* to one check."""
    recorder = TranscribingChannel(ReferenceChannel(LocalChannel("own", SOURCE)))
    with contextlib.suppress(Fault):
        Student(recorder).call(name, *args)
    return PublicRecord(
        points=10.0,
        hidden_points=1.0,
        documented={},
        replies={"test_a": public_record.recorded("test_a", recorder.exchanges)},
    )


def reread(record: PublicRecord, path: Path) -> PublicRecord:
    """Write *record* below *path* and read it."""
    path = path / "records.bin"
    path.write_bytes(records.encode("01_tiny", "", public_record.packed(record), {}))
    return public_record.read(path)


@pytest.mark.parametrize("x", TENSORS)
def test_the_solutions_replies_are_read_from_the_record(x: Tensor, tmp_path: Path):
    """Dtype, shape and values are stored as in the solution's reply."""
    record = reread(recorded("same", [x, None]), tmp_path)
    answer = Student(record.channel("test_a")).call("same", [x, None])

    assert answer[1] is None
    assert (answer[0].dtype, answer[0].shape) == (x.dtype, x.shape)
    assert torch.equal(answer[0], x)


@pytest.mark.parametrize(
    ("check", "x"),
    [
        pytest.param("test_a", torch.ones(3), id="another-shape"),
        pytest.param("test_a", [torch.ones(2)], id="another-structure"),
        pytest.param("test_b", torch.ones(2), id="another-check"),
    ],
)
def test_a_request_that_was_not_recorded_has_no_reply(check: str, x: object):
    """An edited suite ends with a sentence, not with the reply to a different request."""
    channel = recorded("same", torch.ones(2)).channel(check)

    with pytest.raises(UsageError, match=f"{check} does not match the record"):
        Student(channel).call("same", x)


def test_only_the_values_of_a_request_may_differ():
    """A request with slightly different values still gets the recorded reply."""
    channel = recorded("same", torch.ones(2)).channel("test_a")

    assert torch.equal(Student(channel).call("same", torch.zeros(2)), torch.ones(2))


def test_a_new_check_may_ask_the_solution_nothing():
    """The record keeps the numbers of the other checks."""
    known = recorded("same", torch.ones(2))
    added = replace(known, replies=known.replies | {"test_b": ()})

    assert public_record.with_known_numbers(added, known) == added


def test_a_solution_that_raises_cannot_be_recorded():
    """A solution that raises cannot be recorded, and the message tells the author what to do."""
    with pytest.raises(CourseError, match="test_a: the solution raises KeyError"):
        recorded("raises", torch.ones(2))


def test_an_object_cannot_be_recorded():
    """A reply with a value that no message can hold cannot be recorded."""
    with pytest.raises(CourseError, match="a record can't hold"):
        recorded("gives_a_range", torch.ones(2))


def test_texts_are_recorded(tmp_path: Path):
    """A text in a reply, also in a list, is recorded as it is."""
    record = reread(recorded("says", torch.ones(2)), tmp_path)

    assert Student(record.channel("test_a")).call("says", torch.ones(2)) == ["text", 1]


def test_values_of_any_type_are_recorded(tmp_path: Path):
    """Keys, bytes, sets and long integers are recorded as they are."""
    record = reread(recorded("gives_pairs", torch.ones(2)), tmp_path)
    answer = Student(record.channel("test_a")).call("gives_pairs", torch.ones(2))

    assert answer == {(1, "b"): [b"x", 2**70], frozenset({None}): {0.1234567891: {3}}}
    assert not public_record.differs(record, recorded("gives_pairs", torch.ones(2)))


def test_a_request_with_other_keys_has_no_reply():
    """The keys of an argument belong to the request, the floats in it do not."""
    record = recorded("same", {(1, 2): 0.5})

    assert Student(record.channel("test_a")).call("same", {(1, 2): 0.75}) == {(1, 2): 0.5}
    with pytest.raises(UsageError, match="does not match the record"):
        Student(record.channel("test_a")).call("same", {(2, 1): 0.5})


def test_names_in_a_reply_are_listed():
    """`release` compares names with the stub, but not the texts that a function returns."""
    recorder = TranscribingChannel(ReferenceChannel(LocalChannel("own", SOURCE)))
    student = Student(recorder)
    student.call("says", torch.ones(2))
    student.new("Factor").state()

    assert [*public_record.words(recorder.exchanges)] == ["secret_factor"]


@pytest.mark.parametrize(
    ("x", "differing"), [(1.000001, ""), (1.001, "test_a"), (-math.inf, "test_a")]
)
def test_noise_is_not_a_difference(x: float, differing: str):
    """Numbers that differ only in their last digits do not change the record."""
    left, right = (recorded("same", torch.tensor([number])) for number in (1.0, x))

    assert public_record.differs(left, right) == differing


@pytest.mark.parametrize(
    "precision",
    [{"decimals": 4}, {"digits": 3}, {"decimals": 2, "torch": ">=2.9"}],
    ids=["decimals", "digits", "torch"],
)
def test_a_documented_value_keeps_its_precision(precision: dict[str, object]):
    """Students compare with the digits and the version of torch that the author entered."""
    where = {"name": "a", "document": "", "cell": "", "drawn": "", "stage": ()}
    tensor = DocumentedTensor(value=[-2.54e-4, 1.0], **where, **precision)
    record = PublicRecord(
        points=1.0,
        hidden_points=0.0,
        documented={"a": public_record.documented_fields(tensor)},
        replies={},
    )

    assert record.tensors["a"] == tensor
