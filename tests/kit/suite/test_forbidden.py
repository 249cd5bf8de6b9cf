"""Forbidden shortcuts: names in the source, and functions and operators that run."""

import pytest
import torch

from autograder.results import Status
from autograder.suite.checks import WrongAnswer
from autograder.suite.forbidden import (
    READY_SOFTMAX,
    avoids,
    avoids_running,
    keeps_operators,
    looks_up_names,
)
from autograder.suite.in_process import LocalChannel
from autograder.suite.student_proxy import Operators, Student

HEAD = "import torch\nimport torch.nn.functional as F\n"


def student_who_wrote(source: str) -> Student:
    """A student whose module has a function `f`."""
    return Student(LocalChannel("forbidden", (HEAD + source).encode()))


@pytest.mark.parametrize(
    ("source", "excerpt"),
    [
        pytest.param("def f(x): return torch.softmax(x, -1)", "torch.softmax", id="function"),
        pytest.param("def f(x): return x.softmax(-1)", "x.softmax", id="method"),
        pytest.param("def f(x): return (x + 1).softmax(-1)", "….softmax", id="computed"),
        pytest.param("def f(x): return F.softmax(x, -1)", "functional.softmax", id="alias"),
        pytest.param(
            "def g(x): return torch.softmax(x, -1)\ndef f(x): return g(x)",
            "Line 3",
            id="in-a-helper",
        ),
        pytest.param(
            "class Own:\n    def softmax(self, x): return x\ndef f(x): return F.softmax(x)",
            "functional.softmax",
            id="beside-an-own-method-of-the-name",
        ),
        pytest.param(
            "def f(x): return getattr(F, 'soft' + 'max')(x)",
            "functional.softmax",
            id="looked-up-by-its-text",
        ),
    ],
)
def test_a_shortcut_in_the_source_is_refused(source: str, excerpt: str):
    """The message names the line, and says why the shortcut is forbidden."""
    with pytest.raises(WrongAnswer) as caught:
        avoids(student_who_wrote(source), "f", READY_SOFTMAX, "Write it yourself.")

    assert caught.value.status is Status.FORBIDDEN
    assert excerpt in caught.value.message
    assert caught.value.message.endswith("Write it yourself.")


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def softmax(x): return x\ndef f(x): return softmax(x)", id="own-helper"),
        pytest.param(
            "class f:\n    def softmax(self, x): return x\n    def g(self, x): self.softmax(x)",
            id="own-method",
        ),
        pytest.param(
            "class Own:\n    def softmax(self, x): return x\ndef f(x): return Own().softmax(x)",
            id="method-of-an-own-object",
        ),
        pytest.param(
            "def f(x): return x.exp()\ndef g(x): return torch.softmax(x, -1)", id="elsewhere"
        ),
        pytest.param("def f(x):\n    '''Not torch.softmax.'''\n    return x", id="in-a-docstring"),
    ],
)
def test_own_names_are_allowed(source: str):
    """The student's own helpers may have any name."""
    avoids(student_who_wrote(source), "f", READY_SOFTMAX, "")


def test_a_shortcut_hidden_from_the_source_is_found_when_it_runs():
    """`getattr` hides the name in the source, but not the operator that runs."""
    hidden = "def f(x): return getattr(torch, ''.join(['soft', 'max']))(x, -1)"
    student = student_who_wrote(hidden)
    avoids(student, "f", READY_SOFTMAX, "")

    with pytest.raises(WrongAnswer, match="softmax"):
        avoids_running(student.operators("f", torch.zeros(2)), READY_SOFTMAX, "")


def test_code_without_a_shortcut_passes():
    """Only exp and sum run, which are allowed."""
    student = student_who_wrote("def f(x): return x.exp() / x.exp().sum()")

    avoids_running(student.operators("f", torch.zeros(2)), READY_SOFTMAX, "")


def test_a_loop_over_tokens_is_found_by_counting_operators():
    """A loop runs more operators on a longer input."""
    student = student_who_wrote("def f(x): return torch.stack([row * 2 for row in x])")
    few, many = (student.operators("f", torch.zeros(n, 2)) for n in (2, 4))
    constant = Operators({}, {("aten.mul.Tensor", 4): 1})
    keeps_operators(constant, constant, "")

    with pytest.raises(WrongAnswer, match="Use one multiplication"):
        keeps_operators(few, many, "Use one multiplication.")


def test_beside_hidden_inputs_counts_are_not_shown():
    """The worker counts, so it could say any two numbers."""
    few, many = Operators({}, {("aten.add", 1): 31}), Operators({}, {("aten.add", 1): 41})
    with pytest.raises(WrongAnswer) as caught:
        keeps_operators(few, many, "One product is enough.")

    assert "31" in caught.value.message
    assert caught.value.public.endswith("short one. One product is enough.")
    assert not any(letter.isdigit() for letter in caught.value.public)


@pytest.mark.parametrize(
    ("source", "open_"),
    [
        pytest.param("def f(x, n): return getattr(torch, n)(x)", True, id="computed"),
        pytest.param("def f(x): return eval('torch')", True, id="eval"),
        pytest.param("def f(x): return getattr(torch, 'exp')(x)", False, id="text"),
        pytest.param("def f(x): return x.eval()", False, id="method-of-the-name"),
        pytest.param("def f(x): return x\ndef g(x): return eval('x')", False, id="elsewhere"),
    ],
)
def test_a_source_that_looks_names_up_is_told(source: str, open_):
    """A person should look at it: the source does not show what it calls."""
    channel = LocalChannel("forbidden", (HEAD + source).encode())

    assert looks_up_names(channel.definitions, "f") is open_
