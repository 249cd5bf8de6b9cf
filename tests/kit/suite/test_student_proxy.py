"""Tests the `student` of a check: requests, kept answers, and sentences about problems."""

import re

import pytest
import torch
from torch import Tensor

from autograder.results import Status
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import OpaqueValue, Reply, TensorValue
from autograder.sandbox.static_names import definitions, parse
from autograder.suite.checks import WrongAnswer
from autograder.suite.in_process import LocalChannel
from autograder.suite.student_proxy import Parameter, Student

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

def pair(x):
    return x, x

def stub(x):
    raise NotImplementedError

def forgets(x):
    mix(x)

def first(rows):
    return rows[5]

def every(blocks, x):
    return [block(x) for block in blocks]

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


class ConstantChannel:
    """A channel that gives every request the same answer."""

    def __init__(self, answer: object) -> None:
        self.definitions = definitions(parse((SOURCE,)))
        self._answer = answer

    def ask(self, verb: str, **fields: object) -> Reply:  # noqa: ARG002  # the signature fits any request
        """Answer, or raise."""
        if isinstance(self._answer, Exception):
            raise self._answer
        return Reply(value=self._answer)


@pytest.fixture(scope="module")
def channel() -> LocalChannel:
    """SOURCE, imported."""
    return LocalChannel("tiny", SOURCE)


@pytest.fixture
def student(channel: LocalChannel) -> Student:
    """A student whose module is SOURCE."""
    return Student(channel)


def test_parameters_with_other_names_are_matched_by_order_and_shape(student: Student):
    """Values are loaded by place, and the other requests use the names of the course."""
    scale = student.new("Scale", 2).load({"gain": torch.tensor([2.0, 3.0])})

    assert scale.parameters().keys() == {"gain"}
    assert scale.gradients(torch.ones(2), cotangent=torch.ones(2)).parameters.keys() == {"gain"}
    assert student.new("Scale", 2).named("gain").keys() == {"gain"}


def test_parameters_with_other_shapes_are_not_matched(student: Student):
    """Without a match of all shapes, the missing name is reported."""
    with pytest.raises(Fault, match="no parameter gain"):
        student.new("Scale", 2).load({"gain": torch.ones(3)})
    with pytest.raises(WrongAnswer, match="torch lists no parameter named gain"):
        student.new("Scale", 2).named("gain", "factor")


def test_calls_take_and_return_tensors(student: Student):
    """A call has arguments and a result, as a local call has."""
    x = torch.eye(2)

    assert torch.equal(student.call("alone", x), x)
    assert student.has("mix")
    assert not student.has("nothing")
    assert [item["name"] for item in student.signature("mix")] == ["x"]


def test_a_new_module_has_parameters_buffers_and_modes(student: Student):
    """A new module has parameters, buffers, a state and two modes."""
    scale = student.new("Scale", 2, seed=1)
    factor = torch.rand(2, generator=torch.Generator().manual_seed(1))

    assert scale.parameters().keys() == {"factor"}
    assert isinstance(scale.parameters()["factor"], Parameter)
    assert torch.equal(scale.parameters()["factor"].value, factor)
    assert scale.parameters()["factor"].requires_grad
    assert (scale.buffers().keys(), scale.state().keys()) == ({"mask"}, {"factor", "mask"})
    assert scale.eval().train() is scale
    assert scale.hooks() == 0


def test_a_method_besides_forward_can_be_called(student: Student):
    """A method other than `forward` can be called, and the fault about a missing one names it."""
    module, x = student.new("Scale", 2), torch.zeros(2, 2)

    assert torch.equal(module.call("mixed", x), torch.full((2, 2), 0.5))
    with pytest.raises(Fault, match="generate"):
        module.call("generate", x)


def test_modules_can_be_sent_in_lists(student: Student):
    """A list of the student's own modules arrives as it was made."""
    blocks = [student.new("Scale", 2), student.new("Scale", 2)]
    answer = student.call("every", blocks, torch.zeros(2, 2))

    assert len(answer) == 2


def test_loaded_values_are_used(student: Student):
    """`load` returns the module, so that a check can create and load it in one line."""
    scale = student.new("Scale", 2).load({"factor": torch.tensor([2.0, 4.0])})

    assert torch.equal(scale(torch.zeros(2)), torch.tensor([1.0, 2.0]))


def test_a_layer_without_a_bias_gets_the_one_that_it_may_lack(student: Student):
    """With `may_lack`, a missing bias is added with its value, and a different check grades it."""
    layer = student.new("nn.Linear", 2, 2, bias=False).load(
        {"weight": torch.eye(2), "bias": torch.tensor([3.0, 4.0])}, may_lack=("bias",)
    )

    assert torch.equal(layer(torch.zeros(1, 2)), torch.tensor([[3.0, 4.0]]))


def test_gradients_come_by_input_and_by_name(student: Student):
    """The gradients of inputs come by position, those of parameters by name."""
    scale = student.new("Scale", 2).load({"factor": torch.ones(2)})
    found = scale.gradients(torch.zeros(2), cotangent=torch.tensor([1.0, 0.0]))

    assert torch.equal(found.parameters["factor"], torch.tensor([0.5, 0.0]))
    assert len(found.inputs) == 1
    assert torch.equal(found.output, torch.tensor([0.5, 0.5]))


def test_every_answer_is_kept(student: Student):
    """The answers are kept in order, each with its verb."""
    student.call("strict", 3)
    student.refuses("strict", -1)

    assert student.observed == (("call", 3), ("refused", True))


def test_an_argument_that_was_an_answer_is_known(student: Student):
    """An argument that was an answer is recognized by its memory, a container by identity."""
    rows = torch.eye(2)
    pair = student.call("pair", rows)
    student.call("alone", rows)
    student.call("alone", pair[1].detach())
    student.call("pair", pair)
    student.call("pair", [pair[0], (pair[1], 3)])

    assert student.given_back == {
        2: {(0,): (0, 1)},
        3: {(0,): (0,)},
        4: {(0, 0): (0, 0), (0, 1, 0): (0, 1)},
    }


def test_writing_into_an_input_is_detected(student: Student):
    """`keeps_inputs` is False for a function that changes its argument."""
    assert student.keeps_inputs("alone", torch.eye(2))
    assert not student.keeps_inputs("writes", torch.eye(2))


def test_operators_that_ran_are_counted(student: Student):
    """A softmax in a helper is counted when it runs."""
    ran = student.operators("mix", torch.zeros(2, 2))

    assert ran.functions["softmax"] == 1
    assert ran.total == 1


def test_uses_follows_what_a_definition_calls(student: Student):
    """The names in called helpers are listed, those in other functions are not."""
    names = {use.name for use in student.uses("Scale")}

    assert "torch.softmax" in names
    assert "@" not in names


def test_an_exception_is_a_refusal(student: Student):
    """Functions and modules refuse arguments by raising any exception."""
    assert student.refuses("strict", -1)
    assert not student.refuses("strict", 1)
    assert student.new("Scale", 2).refuses(torch.zeros(1, 1, 1, 2))


@pytest.mark.parametrize(
    "status", [Status.TIMEOUT, Status.CRASHED, Status.OUT_OF_MEMORY, Status.BAD_OUTPUT]
)
def test_a_hang_or_a_crash_is_not_a_refusal(status: Status):
    """Only an exception is a refusal; other faults are raised."""
    with pytest.raises(Fault):
        Student(ConstantChannel(Fault(status, "no"))).refuses("strict", -1)


def test_a_stub_refuses_nothing(student: Student):
    """``NotImplementedError`` does not count as a refusal."""
    with pytest.raises(Fault) as caught:
        student.refuses("stub", -1)

    assert caught.value.status is Status.NOT_IMPLEMENTED


def test_the_text_of_an_exception_is_not_public(student: Student):
    """The public sentence has no text or line of the exception, because students choose both."""
    with pytest.raises(Fault) as caught:
        student.call("strict", -1)

    assert "line 20" in caught.value.message
    assert "secret -1" in caught.value.message
    assert caught.value.public == "strict raised an exception."


@pytest.mark.parametrize(
    ("name", "cotangent"),
    [
        pytest.param("forgets", torch.ones(2), id="type"),
        pytest.param("mix", torch.ones(3), id="shape"),
    ],
)
def test_a_result_without_gradients_is_not_an_exception_of_the_code(
    student: Student, name: str, cotangent: Tensor
):
    """A result from which no gradient flows back is not an exception of the student's code."""
    with pytest.raises(Fault) as caught:
        student.gradients(name, torch.ones(2), cotangent=cotangent)

    assert caught.value.public.startswith(f"{name} returned a result of the wrong type or shape")
    assert "raised" not in caught.value.message


def test_an_accident_is_a_refusal_with_a_notice(student: Student):
    """The notice shows argument, line and error, but none of them for a hidden check."""
    assert student.refuses("first", [1])

    [notice] = student.notices
    assert notice.message.startswith(
        "This counts, but the error is accidental. Called with [1], first raised IndexError in"
    )
    assert "raise a ValueError with the reason" in notice.message
    assert not re.search(r"\d|IndexError", notice.public)
    assert student.observed == (("refused", True),)


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        pytest.param(torch.zeros(2, 3), "Called with a tensor (2, 3), first", id="tensor"),
        pytest.param([0.123456789] * 3, "Called with a list of 3, first", id="long-list"),
        pytest.param(7, "Called with 7, first", id="number"),
    ],
)
def test_a_notice_shows_sizes(student: Student, argument: object, shown: str):
    """A tensor is named by its shape, a long list by its length."""
    student.refuses("first", argument)

    assert shown in student.notices[0].message


def test_a_refusal_on_purpose_has_no_notice(student: Student):
    """A ValueError that the student raises on purpose gives no notice."""
    student.refuses("strict", -1)

    assert student.notices == []


def test_a_forged_tensor_is_bad_output():
    """A tensor whose bytes don't fit its shape is the submission's fault."""
    forged = Student(ConstantChannel(TensorValue("float32", (5,), b"")))

    with pytest.raises(Fault) as caught:
        forged.call("double")

    assert caught.value.status is Status.BAD_OUTPUT


@pytest.mark.parametrize("answer", [None, 3, "x", OpaqueValue("a set")])
def test_answers_of_the_wrong_kind_are_handled(answer: object):
    """A worker that answers with nonsense earns nothing and raises no error of the grader."""
    student = Student(ConstantChannel(answer))
    with pytest.raises(WrongAnswer):
        student.new("Scale", 2)
    with pytest.raises(WrongAnswer):
        student.draws_next()

    assert student.signature("mix") == []
    assert student.operators("mix").total == 0
    assert student.gradients("mix", 1, cotangent=torch.ones(1)).inputs == (None,)


NESTED = b"""
import torch

def with_cache(x, cache):
    return x * 2, {"keys": x * 3, "values": cache[0] * x}

def writes(x, *, cache):
    cache["keys"].add_(x)
    return x
"""


@pytest.fixture(scope="module")
def nested() -> LocalChannel:
    """Functions with results and arguments that contain tensors."""
    return LocalChannel("nested", NESTED)


def test_a_cotangent_names_the_entries_of_a_tuple(nested: LocalChannel):
    """No gradient flows back from entries that the cotangent does not name."""
    student, x, cache = Student(nested), torch.ones(2), (torch.ones(2),)
    first = student.gradients("with_cache", x, cache, cotangent={0: torch.tensor([1.0, 5.0])})

    assert torch.equal(first.inputs[0], torch.tensor([2.0, 10.0]))
    assert torch.equal(first.output[1]["keys"], torch.tensor([3.0, 3.0]))
    with pytest.raises(Fault, match="an entry 2"):
        student.gradients("with_cache", x, cache, cotangent={2: x})


def test_writing_into_a_keyword_argument_changes_the_inputs(nested: LocalChannel):
    """`keeps_inputs` notices a change of a cache inside a dictionary."""
    student = Student(nested)

    assert student.keeps_inputs("with_cache", torch.ones(2), (torch.ones(2),))
    assert not student.keeps_inputs("writes", torch.ones(2), cache={"keys": torch.ones(2)})
