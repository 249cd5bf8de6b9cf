"""Forbidden shortcuts: in the source, and among what runs."""

import pytest
import torch

from autograder.results import Status
from autograder.suite.checks import WrongAnswer
from autograder.suite.forbidden import READY_SOFTMAX, avoids, avoids_running, keeps_operators
from autograder.suite.in_process import LocalChannel
from autograder.suite.student_proxy import Operators, Student

HEAD = "import torch\nimport torch.nn.functional as F\n"


def student_who_wrote(source: str) -> Student:
    """A student with a function `f`."""
    return Student(LocalChannel("rules", (HEAD + source).encode()))


@pytest.mark.parametrize(
    ("source", "words"),
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
    ],
)
def test_a_shortcut_in_the_source_is_refused_by_line(source: str, words: str):
    """The line is named, and why it is not allowed here."""
    with pytest.raises(WrongAnswer) as caught:
        avoids(student_who_wrote(source), "f", READY_SOFTMAX, "Write it yourself.")

    assert caught.value.status is Status.FORBIDDEN
    assert words in caught.value.message
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
            "def f(x): return x.exp()\ndef g(x): return torch.softmax(x, -1)", id="elsewhere"
        ),
        pytest.param("def f(x):\n    '''Not torch.softmax.'''\n    return x", id="in-words"),
    ],
)
def test_a_name_of_ones_own_is_no_shortcut(source: str):
    """A helper may be called what it likes."""
    avoids(student_who_wrote(source), "f", READY_SOFTMAX, "")


def test_a_shortcut_that_hides_is_seen_running():
    """`getattr` hides a name from the source, not from torch."""
    hidden = "def f(x): return getattr(torch, 'soft' + 'max')(x, -1)"
    student = student_who_wrote(hidden)
    avoids(student, "f", READY_SOFTMAX, "")

    with pytest.raises(WrongAnswer, match="softmax"):
        avoids_running(student.operators("f", torch.zeros(2)), READY_SOFTMAX, "")


def test_what_runs_without_a_shortcut_is_fine():
    """Only exp and sum run, as they should."""
    student = student_who_wrote("def f(x): return x.exp() / x.exp().sum()")

    avoids_running(student.operators("f", torch.zeros(2)), READY_SOFTMAX, "")


def test_a_loop_over_tokens_is_seen_by_its_operators():
    """Twice the tokens, twice the operators: a loop."""
    student = student_who_wrote("def f(x): return torch.stack([row * 2 for row in x])")
    few, many = (student.operators("f", torch.zeros(n, 2)) for n in (2, 4))
    matches_conclusively = Operators({}, {("aten.mul.Tensor", 4): 1})
    keeps_operators(matches_conclusively, matches_conclusively, "")

    with pytest.raises(WrongAnswer, match="Use one multiplication"):
        keeps_operators(few, many, "Use one multiplication.")
