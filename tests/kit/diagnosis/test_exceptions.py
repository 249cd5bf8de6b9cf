"""Tests the explanations of exceptions that Python and torch really raise."""

import re
from collections.abc import Iterator

import msgspec
import pytest
import torch
from packaging.version import Version

from autograder.diagnosis.exceptions import (
    ERROR_TEXTS,
    ErrorText,
    explain_exception,
    explain_missing,
)
from autograder.results import Status
from autograder.sandbox.faults import Fault, NotFinished, Raised
from autograder.sandbox.protocol import Request
from autograder.suite.in_process import LocalChannel
from autograder.suite.student_proxy import Student

# An older torch explains less of what is wrong with arguments.
IS_OLDER = Version(torch.__version__) < Version("2.13")
START = """
import io
import math
import pdb
import sys
from contextlib import contextmanager
import torch
import torch.nn.functional as F
from torch import nn

A = torch.ones(3, 2)
B = torch.ones(2, 3, 4)
ONES = torch.ones(3, 3).bool()

def leaf():
    return torch.ones(3, 3, requires_grad=True)

def nothing(x):
    x + 1

def late():
    total += 1

@contextmanager
def nobody():
    before = sys.stdin, sys.stdout
    sys.stdin = sys.stdout = io.StringIO()
    try:
        yield
    finally:
        sys.stdin, sys.stdout = before

class NoInit(nn.Module):
    def __init__(self):
        self.layer = nn.Linear(3, 2)

class NoInitButNumbers(nn.Module):
    def __init__(self):
        self.size = 3
    def forward(self, x):
        return x

class Layer(nn.Module):
    def __init__(self, d_in, d_out=2):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out)
    def forward(self, x):
        return self.W_q(x)

class Misspelt(nn.Module):
    def foward(self, x):
        return x
"""
CASES = [  # the name of the row, a statement that provokes it, and a part of the sentence
    (
        "sizes_of_a_product",
        "A @ A",
        "shape (3, 2) is multiplied by one of shape (3, 2): the number",
    ),
    (
        "sizes_of_a_product",
        "A @ A",
        "must equal the number of rows of the second, 3. They would",
    ),
    (
        "sizes_of_a_product",
        "B @ A",
        "shape (6, 4) is multiplied by one of shape (3, 2): the number",
    ),
    (
        "sizes_of_a_product",
        "nn.Linear(3, 2)(A)",
        "one of shape (3, 2): the number of columns of the first, 2,",
    ),
    (
        "sizes_of_a_product",
        "nn.Linear(5, 7, bias=False)(B)",
        "(6, 4) is multiplied by one of shape (5,",
    ),
    ("sizes_of_a_product", "F.linear(A, torch.ones(2, 3))", "one of shape (3, 2)"),
    ("sizes_of_a_product", "torch.addmm(A, A, A)", "(3, 2) is multiplied by one of shape (3, 2)"),
    (
        "sizes_of_a_product",
        "torch.ones(2) @ A",
        "shape (1, 2) is multiplied by one of shape (3, 2)",
    ),
    (
        "sizes_of_a_product",
        "B @ B",
        "the first batch, 4, must equal the number of rows in the second, 3.",
    ),
    (
        "sizes_of_a_product",
        "B[None] @ B[None]",
        "the first batch, 4, must equal the number of rows",
    ),
    ("sizes_of_a_product", "A @ torch.ones(3)", "(3, 2) is multiplied by a vector of 3 numbers"),
    ("sizes_of_a_product", "torch.ones(2) @ torch.ones(3)", "vectors of lengths 2 and 3"),
    ("sizes_of_a_product", "torch.dot(torch.ones(2), torch.ones(3))", "lengths 2 and 3"),
    (
        "sizes_of_a_product",
        "torch.einsum('ij,jk->ik', A, A)",
        "letter j is used for an axis of size",
    ),
    ("axes_of_a_product", "torch.tensor(2.0) @ A", "has the wrong number of axes"),
    ("axes_of_a_product", "torch.bmm(A, A)", "has the wrong number of axes"),
    ("axes_of_a_product", "torch.mm(B, A)", "has the wrong number of axes"),
    ("axes_of_a_product", "torch.dot(A, A)", "has the wrong number of axes"),
    ("axes_of_a_product", "torch.einsum('bij->ij', A)", "has the wrong number of axes"),
    ("sizes_do_not_broadcast", "A + torch.ones(3)", "size 2 in the first and size 3 in the second"),
    (
        "sizes_do_not_broadcast",
        "B @ torch.ones(3, 4, 5)",
        "size 2 in the first and size 3 in the second",
    ),
    ("sizes_do_not_broadcast", "B @ torch.ones(3, 4, 5)", "to the axes before the last two"),
    (
        "sizes_do_not_broadcast",
        "ONES.float().masked_fill(torch.ones(4, 4).bool(), 0)",
        "4 in the first and size 3 in",
    ),
    ("sizes_do_not_broadcast", "torch.where(torch.ones(4, 4).bool(), A[:, :1], A)", "sizes"),
    ("sizes_do_not_broadcast", "A.clone().add_(torch.ones(4, 2))", "3 in the first and size 4 in"),
    (
        "sizes_do_not_broadcast",
        "A.clone().add_(torch.ones(4, 3, 2))",
        "its tensor from [3, 2] to [4, 3, 2]",
    ),
    (
        "sizes_do_not_broadcast",
        "A.expand(3, 4)",
        "shape [3, 2] can't be expanded to the shape [3, 4]",
    ),
    ("sizes_do_not_broadcast", "B[0].clone()[0] = torch.ones(3)", "only an axis of size 1"),
    ("view_of_another_size", "A.view(4, 2)", "A tensor of 6 numbers can't take the shape [4, 2]"),
    ("view_of_another_size", "A.reshape(-1, 4)", "A tensor of 6 numbers can't take the shape [-1"),
    ("view_of_another_size", "A.unflatten(-1, (2, 2))", "size 2 can't be split into [2, 2]"),
    ("view_of_another_order", "B.transpose(1, 2).view(2, 12)", "such as a transpose"),
    ("size_is_a_fraction", "B.view(2, 3, 2, 4 / 2)", "/ always gives a float"),
    ("size_is_a_fraction", "B.view(4 / 2, 12)", "/ always gives a float"),
    ("size_is_a_fraction", "B.reshape(2, 12 / 1)", "/ always gives a float"),
    ("size_is_a_fraction", "nn.Linear(2, 4 / 2)", "/ always gives a float"),
    (
        "no_such_axis",
        "torch.softmax(A, dim=2)",
        "Axis 2 does not exist here: the axes of this tensor",
    ),
    ("no_such_axis", "A.transpose(1, 2)", "have the numbers -2 to 1."),
    ("no_such_axis", "torch.cat([A, A], dim=2)", "Axis 2 does not exist"),
    ("no_such_axis", "A.permute(0, 2, 1)", "there are 3 numbers and 2 axes"),
    ("no_such_axis", "torch.ones(3).mT", "needs a matrix"),
    ("no_such_axis", "torch.triu(torch.ones(3))", "needs a matrix"),
    ("no_such_axis", "A[0, 0, 0]", "more numbers than the 2 axes"),
    ("no_such_index", "A[3]", "Index 3 is out of range for an axis of size 3"),
    ("values_and_names", "b, t, d = A.shape", "need 3 values, but there are 2"),
    ("values_and_names", "t, d = B.shape", "take 2 values, but there are more"),
    ("sizes_of_joined", "torch.cat([A, ONES])", "Tensors are concatenated along axis 0"),
    ("sizes_of_joined", "torch.cat([A, B])", "different numbers of axes: 2 and 3."),
    ("sizes_of_joined", "torch.stack([A, ONES])", "different shapes: [3, 2] and [3, 3]."),
    ("nothing_to_choose", "max({}, key=len)", "nothing to choose"),
    ("one_to_join", "torch.cat(A)", "takes a list of tensors"),
    ("leaf_in_place", "w = leaf()\n    w += 1", "is changed in place"),
    ("leaf_in_place", "leaf()[0] = 1", "is changed in place"),
    ("needed_later_in_place", "leaf().exp().mul_(2).sum().backward()", "is changed in place"),
    ("needed_later_in_place", "w = leaf().softmax(-1)\n    w[0] = 0\n    w.sum().backward()", "in"),
    ("view_in_place", "for row in leaf().unbind(): row.mul_(2)", "is changed in place"),
    ("leaves_torch", "leaf().numpy()", "passed to NumPy"),
    ("no_graph", "A.sum().backward()", "does not depend on anything that gets gradients"),
    ("mask_of_numbers", "A.masked_fill(A, 0)", "needs a mask of booleans"),
    ("mask_of_numbers", "torch.where(A, A, A)", "needs a mask of booleans"),
    ("mask_of_numbers", "torch.masked_select(A, A)", "needs a mask of booleans"),
    ("mask_of_numbers", "~A", "needs a mask of booleans"),
    ("mask_of_numbers", "A & A", "needs a mask of booleans"),
    ("mask_of_numbers", "A | A", "needs a mask of booleans"),
    ("minus_of_booleans", "1 - ONES", "minus sign"),
    ("minus_of_booleans", "-ONES", "minus sign"),
    ("minus_of_booleans", "ONES - ONES", "minus sign"),
    ("tensor_as_condition", "if A: pass", "one condition"),
    ("tensor_as_number", "math.sqrt(A)", "where one number is needed"),
    ("tensor_as_number", "A.item()", "where one number is needed"),
    ("tensor_as_number", "range(A)", "where one number is needed"),
    ("dtypes_differ", "nn.Linear(2, 2)(A.long())", "are multiplied: Long and Float."),
    ("dtypes_differ", "nn.Linear(2, 2)(A.double())", "are multiplied: Double and Float."),
    ("dtypes_differ", "A @ A.T.long()", "are multiplied: float and long int."),
    ("dtypes_differ", "B @ B.mT.double()", "Two tensors of different dtypes are used"),
    ("dtypes_differ", "torch.dot(A[0], A[0].long())", "Two tensors of different dtypes are used"),
    ("dtypes_differ", "torch.mv(A, A[0].long())", "Two tensors of different dtypes are used"),
    ("whole_numbers", "A.long().softmax(-1)", "for whole numbers"),
    ("whole_numbers", "A.long().mean()", "for whole numbers"),
    ("stored_as_whole", "A.long().div_(2)", "A floating-point or infinite number"),
    (
        "stored_as_whole",
        "A.long().masked_fill(A > 0, -torch.inf)",
        "A floating-point or infinite number",
    ),
    ("none_is_used", "nothing(A) @ A", "ends without `return` returns None"),
    ("none_is_used", "A @ nothing(A)", "ends without `return` returns None"),
    ("none_is_used", "nothing(A) / 2.0", "ends without `return` returns None"),
    ("none_is_used", "nothing(A).shape", "ends without `return` returns None"),
    ("none_is_used", "nothing(A)[0]", "ends without `return` returns None"),
    ("none_is_used", "q, k = nothing(A)", "ends without `return` returns None"),
    ("none_is_used", "list(nothing(A))", "ends without `return` returns None"),
    ("none_is_used", "torch.softmax(nothing(A), -1)", "ends without `return` returns None"),
    ("none_is_used", "torch.cat([nothing(A)])", "ends without `return` returns None"),
    ("init_not_called", "NoInit()", "must run first in `__init__`"),
    ("init_not_called", "NoInitButNumbers()(A)", "must run first in `__init__`"),
    ("no_forward", "Misspelt()(A)", "no method named `forward`"),
    ("no_forward", "nn.ModuleList([nn.Linear(2, 2)])(A)", "only holds modules"),
    ("layer_as_tensor", "A @ nn.Linear(2, 2)", "must be called with a tensor"),
    ("layer_as_tensor", "nn.Dropout(0.5) * A", "must be called with a tensor"),
    ("list_as_tensor", "[1, 2] @ A", "A list or a tuple is used where"),
    ("list_as_tensor", "(A, A).shape", "several results returns a tuple"),
    ("list_as_tensor", "torch.softmax([1.0, 2.0], -1)", "A list or a tuple is used where"),
    ("number_as_tensor", "torch.sqrt(A.shape[-1])", "gets a Python number"),
    ("number_as_tensor", "torch.exp(2.0)", "gets a Python number"),
    ("not_a_function", "A(A)", "object of type Tensor"),
    ("not_a_function", "[nn.Linear(2, 2)](A)", "object of type list"),
    ("two_results", "A - A.max(dim=1)", "max along an axis returns a pair of tensors, the values"),
    ("two_results", "A.max(dim=1) - A", "max along an axis returns a pair"),
    ("two_results", "-A.min(dim=1)", "min along an axis returns a pair"),
    ("two_results", "torch.exp(A.max(dim=1))", "max along an axis returns a pair"),
    ("two_results", "A.topk(1).shape", "topk along an axis returns a pair"),
    ("two_results", "torch.cat([A.sort()])", "sort along an axis returns a pair"),
    ("attribute_of_a_tuple", "(A,).exp()", "A tuple has no attribute exp. A function that"),
    ("attribute_of_a_tuple", "[A].exp()", "A list has no attribute exp. A function that"),
    ("no_such_attribute", "Layer(2)(A)", "Layer has no attribute W_q."),
    ("no_such_function", "torch.soft_max(A, -1)", "torch has no soft_max."),
    ("arguments_of_a_call", "nothing()", "The call of nothing leaves out an argument"),
    ("arguments_of_a_call", "torch.softmax(A)", "torch's softmax leaves out the argument dim."),
    ("arguments_of_a_call", "A.transpose(1)", "torch's transpose leaves out the argument dim1."),
    (
        "arguments_of_a_call",
        "nothing(A, A)",
        "nothing is called with more arguments than it takes.",
    ),
    ("arguments_of_a_call", "torch.zeros_like(3, 3)", "called with more arguments than it takes."),
    ("arguments_of_a_call", "torch.stack(A, A, A)", "called with more arguments than it takes."),
    ("arguments_of_a_call", "A.t(1)", "The tensor method t is called with arguments"),
    ("arguments_of_a_call", "Layer(3, 2, 1)", "takes from 2 to 3 arguments by position"),
    ("arguments_of_a_call", "nothing(y=A)", "passes the argument y"),
    ("arguments_of_a_call", "nothing(A, x=A)", "passes x twice"),
    ("name_not_defined", "W_q(A)", "W_q is not defined."),
    ("name_not_defined", "np.exp(A)", "np is used, but this file does not import it."),
    ("no_such_attribute", "A.sums()", "Tensor has no attribute or method sums."),
    ("no_such_attribute", "(3).shape", "int has no attribute or method shape."),
    ("used_before_it_has_a_value", "late()", "total is used before it gets a value"),
    ("object_as_tensor", "A @ Layer(3)", "such as a module"),
    ("object_as_tensor", "Layer(3) @ A", "such as a module"),
    ("module_of_python", "A @ torch", "such as torch itself"),
    ("module_of_python", "torch.tril(torch)", "such as torch itself"),
    ("module_of_python", "nn(3, 2)", "such as torch itself"),
    (
        "arguments_of_masked_fill",
        "A.masked_fill(0.0, A == 1)",
        "a mask and a number, in this order",
    ),
    ("arguments_of_masked_fill", "A.masked_fill(None, 0.0)", "a mask and a number, in this order"),
    ("calls_itself", "f()", "more often than Python allows"),
    ("no_power", "A / A.shape[-1] ^ 0.5", "^ is not the power operator"),
    ("no_power", "A / (A.shape[-1] ^ 0.5)", "^ is not the power operator"),
    ("no_power", "2.0 ^ 2", "^ is not the power operator"),
    ("list_as_tensor", "A - (A,)", "a comma at the end of a line makes one"),
    ("list_as_tensor", "(A,) + A", "a comma at the end of a line makes one"),
    ("list_as_tensor", "-(A,)", "a comma at the end of a line makes one"),
    ("list_as_tensor", "torch.exp((A,))", "A tuple is used where a tensor"),
    ("name_not_defined", "softmax(A, -1)", "softmax is not defined. torch has a function"),
    ("waits_for_input", "with nobody(): input()", "nobody can type while checks run"),
    ("ends_the_program", "exit()", "ends the whole program"),
    ("ends_the_program", "exit(2)", "ends the whole program"),
    (
        "waits_in_debugger",
        "pdb.Pdb(stdin=io.StringIO(), stdout=io.StringIO()).set_trace()",
        "stops in the debugger",
    ),
    ("device_not_here", "torch.zeros(2, device='mps')", "asks for a GPU"),
    ("device_not_here", "torch.zeros(2, device='xpu')", "asks for a GPU"),
    ("device_not_here", "A.to('mps')", "asks for a GPU"),
    ("device_not_here", "torch.Generator(device='mps')", "asks for a GPU"),
    (
        "device_not_here",  # as torch raises it if it was built for CUDA
        "exec('raise RuntimeError(\"Found no NVIDIA driver on your system.\")')",
        "asks for a GPU",
    ),
]


def raised(statement: str) -> Raised:
    """Return the exception of *statement*, as the student's code raises it."""
    student = Student(LocalChannel("theirs", f"{START}\ndef f():\n    {statement}\n".encode()))
    with pytest.raises(Fault) as caught:
        student.call("f")
    assert isinstance(caught.value, Raised)
    return caught.value


@pytest.mark.parametrize(("name", "statement", "part"), CASES, ids=[case[1] for case in CASES])
def test_an_exception_is_explained(name: str, statement: str, part: str):
    """An exception is explained with its sizes, and in a hidden check without them."""
    error = raised(statement)
    if IS_OLDER and re.search("received an invalid combination|not supported for", error.text):
        pytest.skip("this torch does not say what is wrong")
    found = explain_exception(error)

    assert found is not None
    assert found.name == name
    assert part in found.sentence
    assert (found.name, found.public) in {(name, row.sentence) for name, row in ERROR_TEXTS}
    assert found.question.endswith("?")


def alternatives() -> Iterator[tuple[str, str]]:
    """Yield each pattern, with the name of its entry."""
    for name, row in ERROR_TEXTS:
        for pattern in row.patterns:
            yield name, pattern


@pytest.mark.skipif(IS_OLDER, reason="the table holds the texts of newer versions of torch")
def test_every_text_is_provoked():
    """Each text in the table is one that the installed torch or Python writes."""
    texts = [raised(statement).text for _, statement, _ in CASES]
    texts.append(without_result().text)
    unseen = [one for one in alternatives() if not any(re.match(one[1], text) for text in texts)]

    assert unseen == []


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        pytest.param({"patterns": []}, "length >= 1", id="no-pattern"),
        pytest.param({"patterns": ["("]}, "wrong pattern: ", id="wrong-pattern"),
        pytest.param({"sentence": "It is {a}."}, "unknown placeholder {a}", id="hidden"),
        pytest.param({"shown": "It is {b}."}, "unknown placeholder {b}", id="shown"),
        pytest.param({"hint": "It is."}, "unknown field `hint`", id="key"),
        pytest.param({"question": ""}, "length >= 1", id="no-question"),
    ],
)
def test_a_wrong_entry_is_refused(table: dict[str, object], reason: str):
    """A sentence with a placeholder that is not a group of its patterns is refused."""
    right = {"patterns": ["of (?P<a>.)"], "sentence": "It is.", "question": "Why?"}

    assert msgspec.convert(right | {"shown": "It is {a}."}, ErrorText).shown
    with pytest.raises(msgspec.ValidationError, match=re.escape(reason)):
        msgspec.convert(right | table, ErrorText)


def test_hidden_sentences_hold_nothing_of_the_text():
    """A sentence for hidden inputs has no placeholder for words or sizes."""
    sentences = [row.sentence for _, row in ERROR_TEXTS]

    assert not [text for text in sentences if "{" in text or re.search(r"[2-9]", text)]


def test_a_text_of_the_students_own_is_not_explained():
    """The text of the student's own ``raise`` or ``assert`` is not explained."""
    text = "mat1 and mat2 shapes cannot be multiplied (3x2 and 3x2)"

    assert explain_exception(raised(f"raise RuntimeError('{text}')")) is None
    assert explain_exception(raised(f"assert False, '{text}'")) is None


def test_a_refusal_of_the_students_own_is_explained():
    """A refusal of arguments for which the solution answers is explained."""
    found = explain_exception(raised("raise ValueError('3 tokens')"))

    assert found is not None
    assert found.name == "refuses_right_arguments"


def test_code_that_does_not_end_is_explained():
    """Endless code is explained, and a check that did not run for lack of time is not."""
    found = explain_exception(NotFinished("Not within 3 s.", public="Not in time."))

    assert found is not None
    assert found.name == "not_finished"
    loading = explain_exception(NotFinished("3 s.", public="Not in time.", loads_compiler=True))
    assert loading is not None
    assert loading.name == "loads_compiler"
    assert explain_exception(Fault(Status.TIMEOUT, "Not run.")) is None


def test_a_text_of_another_type_is_not_explained():
    """A text, even an empty one, is explained only for its own type of exception."""
    assert explain_exception(raised("next(iter([]))")) is None


def test_an_unknown_text_is_not_explained():
    """An exception with an unknown text gets no explanation."""
    assert explain_exception(raised("1 / 0")) is None
    assert explain_exception(raised("{}['x']")) is None
    assert explain_exception(None) is None


def without_result() -> Raised:
    """Return the fault of a check of gradients on a function without ``return``."""
    student = Student(LocalChannel("theirs", f"{START}\ndef f(x):\n    x * x\n".encode()))
    with pytest.raises(Raised) as caught:
        student.gradients("f", torch.ones(2), cotangent=torch.ones(2))
    return caught.value


def test_a_gradient_of_none_is_explained():
    """A missing gradient in a check that asks for gradients is explained."""
    found = explain_exception(without_result())

    assert found is not None
    assert found.name == "none_is_used"


@pytest.mark.parametrize(
    ("count", "named"),
    [
        pytest.param(1, "must be named p0; torch", id="one"),
        pytest.param(2, "must be named p0 and p1; torch", id="two"),
        pytest.param(9, "p6, p7, …; torch", id="too-many-to-list"),
    ],
)
def test_other_names_of_parameters_are_explained(count: int, named: str):
    """Parameters with names other than those that the check sets are explained."""
    error = Fault(Status.MISSING, "torch lists no parameter p0.")
    request = Request(verb="load", kwargs={f"p{number}": 1.0 for number in range(count)})
    found = explain_missing(error, request, "Layer")

    assert found is not None
    assert found.sentence.startswith("In this check, the parameters of Layer must be named")
    assert named in found.sentence


def test_the_missing_name_is_the_first_of_many():
    """A name that torch lists nowhere is said, even if it is the last of many."""
    error = Fault(Status.MISSING, "torch lists no parameter p19; found: p0, p1")
    request = Request(verb="load", kwargs={f"p{number}": 1.0 for number in range(20)})
    found = explain_missing(error, request, "Layer")

    assert found is not None
    assert "must be named p19, p0, p1, " in found.sentence


def test_no_other_fault_is_about_parameters():
    """A missing function and an exception show no wrong name of a parameter."""
    request = Request(verb="load", kwargs={"p": 1.0})

    for error in (Fault(Status.MISSING, "There is no function f."), ValueError(), None):
        assert explain_missing(error, request, "Layer") is None
