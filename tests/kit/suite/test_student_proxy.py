"""The `student` of a check: verbs, observations, and sentences for what breaks."""

import pytest
import torch

from autograder.results import Status
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import OpaqueValue, Problem, Reply, TensorValue
from autograder.sandbox.static_names import definitions, parse
from autograder.suite.checks import WrongAnswer
from autograder.suite.in_process import LocalChannel
from autograder.suite.student_proxy import Parameter, Student, fault_of

SOURCE = b"""
import torch
from torch import nn

def helper(x):
    return torch.softmax(x, dim=-1)

def mix(x):
    return helper(x)

def alone(x):
    return x @ x

def writes(x):
    x += 1
    return x

def strict(x):
    if x < 0:
        raise ValueError(f"secret {x}")
    return x

def stub(x):
    raise NotImplementedError

class Scale(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.factor = nn.Parameter(torch.rand(d))
        self.register_buffer("mask", torch.eye(2))

    def forward(self, x):
        return self.mixed(x) * self.factor

    def mixed(self, x):
        if x.ndim > 3:
            raise ValueError("too many axes")
        return mix(x)
"""


class Silent:
    """A channel that answers every request alike."""

    def __init__(self, answer: object) -> None:
        self.definitions = definitions(parse((SOURCE,)))
        self._answer = answer

    def ask(self, verb: str, **fields: object) -> Reply:  # noqa: ARG002  # whatever is asked
        """Answer, or raise."""
        if isinstance(self._answer, Exception):
            raise self._answer
        return Reply(number=0, value=self._answer)


@pytest.fixture(scope="module")
def channel() -> LocalChannel:
    """SOURCE, imported."""
    return LocalChannel("tiny", SOURCE)


@pytest.fixture
def student(channel: LocalChannel) -> Student:
    """A student who wrote SOURCE."""
    return Student(channel)


def test_verbs_take_and_give_tensors(student: Student):
    """A call looks like a call."""
    x = torch.eye(2)

    assert torch.equal(student.call("alone", x), x)
    assert student.has("mix")
    assert not student.has("nothing")
    assert [item["name"] for item in student.signature("mix")] == ["x"]


def test_a_new_module_answers_like_one(student: Student):
    """Parameters, buffers, state, modes and forward are asked of a stand-in."""
    scale = student.new("Scale", 2, seed=1)
    factor = torch.rand(2, generator=torch.Generator().manual_seed(1))

    assert scale.parameters().keys() == {"factor"}
    assert isinstance(scale.parameters()["factor"], Parameter)
    assert torch.equal(scale.parameters()["factor"].value, factor)
    assert scale.parameters()["factor"].requires_grad
    assert (scale.buffers().keys(), scale.state().keys()) == ({"mask"}, {"factor", "mask"})
    assert scale.eval().train() is scale


def test_loaded_values_are_used(student: Student):
    """`load` returns the module, so that a check reads as one line."""
    scale = student.new("Scale", 2).load({"factor": torch.tensor([2.0, 4.0])})

    assert torch.equal(scale(torch.zeros(2)), torch.tensor([1.0, 2.0]))


def test_gradients_come_by_input_and_by_name(student: Student):
    """The cotangent is sent back; every weight tells what reached it."""
    scale = student.new("Scale", 2).load({"factor": torch.ones(2)})
    found = scale.gradients(torch.zeros(2), cotangent=torch.tensor([1.0, 0.0]))

    assert torch.equal(found.parameters["factor"], torch.tensor([0.5, 0.0]))
    assert len(found.inputs) == 1
    assert torch.equal(found.output, torch.tensor([0.5, 0.5]))


def test_every_answer_is_noted(student: Student):
    """What came back, in order, is the check's observation."""
    student.call("strict", 3)
    student.refuses("strict", -1)

    assert student.observed == [("call", 3), ("refused", True)]


def test_writing_into_an_input_is_seen(student: Student):
    """`keeps_inputs` is False for what changes its argument."""
    assert student.keeps_inputs("alone", torch.eye(2))
    assert not student.keeps_inputs("writes", torch.eye(2))


def test_operators_that_ran_are_counted(student: Student):
    """A helper's softmax is seen where it runs."""
    ran = student.operators("mix", torch.zeros(2, 2))

    assert ran.functions["softmax"] == 1
    assert ran.total == 1


def test_uses_follows_what_a_definition_calls(student: Student):
    """Through own helpers, to what they use of torch; not into what is not called."""
    names = {use.name for use in student.uses("Scale")}

    assert "torch.softmax" in names
    assert "@" not in names


def test_a_raise_is_a_refusal(student: Student):
    """Functions and modules refuse by raising, whatever they raise."""
    assert student.refuses("strict", -1)
    assert not student.refuses("strict", 1)
    assert student.new("Scale", 2).refuses(torch.zeros(1, 1, 1, 2))


@pytest.mark.parametrize(
    "status", [Status.TIMEOUT, Status.CRASHED, Status.OUT_OF_MEMORY, Status.BAD_OUTPUT]
)
def test_a_hang_or_a_crash_is_no_refusal(status: Status):
    """Only an exception refuses; what breaks otherwise stays broken."""
    with pytest.raises(Fault):
        Student(Silent(Fault(status, "no"))).refuses("strict", -1)


def test_a_stub_refuses_nothing(student: Student):
    """``NotImplementedError`` earns no point for raising where it should."""
    with pytest.raises(Fault) as caught:
        student.refuses("stub", -1)

    assert caught.value.status is Status.NOT_IMPLEMENTED


def test_what_raises_speaks_of_its_text_only_to_its_author(student: Student):
    """The public sentence names the line, never the student's own words."""
    with pytest.raises(Fault) as caught:
        student.call("strict", -1)

    assert "secret -1" in caught.value.message
    assert caught.value.public == "strict raised an exception in line 20."


@pytest.mark.parametrize(
    ("problem", "status", "words"),
    [
        pytest.param(
            Problem(kind="missing", text="double is not defined"),
            Status.MISSING,
            "Double is not defined.",
            id="missing",
        ),
        pytest.param(
            Problem(kind="not-implemented", line=3), Status.NOT_IMPLEMENTED, "line 3", id="stub"
        ),
        pytest.param(Problem(kind="out-of-memory"), Status.OUT_OF_MEMORY, "memory", id="memory"),
        pytest.param(
            Problem(kind="bad-output", text="too long"), Status.BAD_OUTPUT, "too long", id="output"
        ),
        pytest.param(
            Problem(kind="raised", type="KeyError", place="cell 4", line=2),
            Status.RAISED,
            "KeyError in cell 4, line 2",
            id="cell",
        ),
    ],
)
def test_each_problem_has_a_status_and_a_sentence(problem: Problem, status: Status, words: str):
    """What went wrong is told in words that lead to the place."""
    fault = fault_of(problem, "double")

    assert fault.status is status
    assert words in fault.message


def test_a_forged_tensor_is_bad_output():
    """An answer that contradicts itself is the submission's fault."""
    forged = Student(Silent(TensorValue("float32", (5,), b"")))

    with pytest.raises(Fault) as caught:
        forged.call("double")

    assert caught.value.status is Status.BAD_OUTPUT


@pytest.mark.parametrize("answer", [None, 3, "x", OpaqueValue("a set")])
def test_testimony_of_the_wrong_kind_breaks_nothing(answer: object):
    """A worker that answers with nonsense earns nothing, and costs us nothing."""
    liar = Student(Silent(answer))
    with pytest.raises(WrongAnswer):
        liar.new("Scale", 2)
    with pytest.raises(WrongAnswer):
        liar.draws_next()

    assert liar.signature("mix") == []
    assert liar.operators("mix").total == 0
    assert liar.gradients("mix", 1, cotangent=torch.ones(1)).inputs == (None,)
