"""Causal readings: what is said about the way in which a wrong result depends on its inputs."""

import pytest
import torch

from autograder.diagnosis.changed_calls import find_call
from autograder.diagnosis.effects import compare_effects, missing_gradients
from autograder.diagnosis.heuristics import Pattern
from autograder.diagnosis.observation import Observation
from autograder.diagnosis.single_changes import RightCall, SolutionPair
from autograder.suite.in_process import LocalChannel, RecordingChannel
from autograder.suite.student_proxy import Student

SOLUTION = """
import torch
from torch import nn

def mix(weights, values):
    return torch.softmax(weights, -1) @ values

def attend(x, mask):
    return torch.softmax((x @ x.mT).masked_fill(mask == 0, -torch.inf), -1) @ x

def halve(x):
    return x / 2

class Causal(nn.Module):
    def __init__(self, d_in, d_out, dropout=0.0):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).mT / self.W_key.out_features ** 0.5
        future = torch.ones(x.shape[-2], x.shape[-2]).triu(1) == 1
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), -1)
        return self.dropout(weights) @ self.W_value(x)
"""
FORWARD = "class Causal(Causal):\n    def forward(self, x):\n"
SCORES = "        s = self.W_query(x) @ self.W_key(x).mT\n"
FUTURE = "        f = torch.ones(x.shape[-2], x.shape[-2]).triu(1) == 1\n"
BATCH, TOKENS = torch.rand(2, 4, 3), torch.rand(4, 3)
MASK = torch.tensor([[1.0, 0, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]])


def requests(name: str, student: Student) -> None:
    """Ask as the check of *name* does."""
    if name == "Causal":
        student.new("Causal", 3, 6)(BATCH)
    elif name == "attend":
        student.call("attend", TOKENS, MASK)
    else:
        student.call(name, *(torch.rand(4, 4), TOKENS) if name == "mix" else (TOKENS,))


def reading(name: str, code: str) -> Pattern:
    """Compare *code* with the solution, whose last request is the call of *name*."""
    solution = LocalChannel("readings", SOLUTION.encode())
    recording = RecordingChannel(solution)
    student = Student(recording)
    requests(name, student)
    handles = [getattr(answer, "handle", -1) for _, answer in student.observed]
    call = find_call(solution, [one.request for one in recording.exchanges], handles)
    assert call is not None
    theirs = LocalChannel("theirs", f"{SOLUTION}\n{code}".encode())
    return compare_effects(SolutionPair.of(RightCall(solution, call), theirs))


@pytest.mark.parametrize(
    ("name", "code", "sentence"),
    [
        pytest.param(
            "Causal",
            f"{FORWARD}{SCORES}{FUTURE}"
            "        s = self.W_query(x) @ self.W_query(x).mT\n"
            "        return s.masked_fill(f, -torch.inf).softmax(-1) @ self.W_value(x)\n",
            "W_key.weight has no effect on your result, but the right one depends on it.",
            id="parameter-without-effect",
        ),
        pytest.param(
            "Causal",
            f"{FORWARD}{SCORES}        return s.softmax(-1) @ self.W_value(x)\n",
            "Other numbers in row 1 of x change row 0 of your result: it depends on a later token.",
            id="future",
        ),
        pytest.param(
            "Causal",
            f"{FORWARD}{SCORES}{FUTURE}"
            "        return s.masked_fill(f, -1e9).softmax(0) @ self.W_value(x)\n",
            "Other numbers in the first item of x change the results of other items of the batch.",
            id="items-mixed",
        ),
        pytest.param(
            "Causal",
            f"{FORWARD}{SCORES}{FUTURE}"
            "        w = nn.functional.dropout(s.masked_fill(f, -torch.inf).softmax(-1), 0.5)\n"
            "        return w @ self.W_value(x)\n",
            "Two calls with the same input give different results, also in evaluation mode.",
            id="dropout-always",
        ),
        pytest.param(
            "Causal",
            f"{FORWARD}        return self.W_value(x) + self.W_query(x) * self.W_key(x)\n",
            "Each row of your result depends on its own row of x alone.",
            id="rows-apart",
        ),
        pytest.param(
            "Causal",
            f"{FORWARD}{SCORES}"
            "        f = torch.ones(x.shape[-2], x.shape[-2]).triu(0) == 1\n"
            "        f[0, 0] = False\n"
            "        return s.masked_fill(f, -torch.inf).softmax(-1) @ self.W_value(x)\n",
            "Other numbers in row 1 of x do not change row 1 of your result, and they should.",
            id="own-row-hidden",
        ),
        pytest.param(
            "attend",
            "def attend(x, mask):\n    return torch.softmax(x @ x.mT, -1) @ x\n",
            "With other ones and zeros in mask your result is exactly the same; the right one "
            "changes.",
            id="mask-unused",
        ),
        pytest.param(
            "attend",
            "def attend(x, mask):\n"
            "    return torch.softmax((x @ x.mT).masked_fill(mask == 1, -1e9), -1) @ x\n",
            "Other numbers in row 1 of x change row 0 of your result, and they should not. Seen "
            "with the mask of this check.",
            id="mask-inverted",
        ),
        pytest.param(
            "mix",
            "def mix(weights, values):\n    return weights @ values\n",
            "When 1 is added to all of weights, the right result stays the same; yours does not.",
            id="no-softmax",
        ),
        pytest.param(
            "halve",
            "def halve(x):\n    return x / 2 + x.mean()\n",
            "Other numbers in row 1 of x change row 0 of your result, and they should not.",
            id="mean-of-all-rows",
        ),
        pytest.param(
            "halve",
            "def halve(x):\n    return (x / 2) ** 2 + x\n",
            "When x is doubled, the right result is doubled as well; yours is not.",
            id="not-linear",
        ),
        pytest.param(
            "halve",
            "def halve(x):\n    return x / 2 + 1\n",
            "Your result is what the right computation gives if 1 is added to all numbers in its "
            "result.",
            id="a-summand",
        ),
    ],
)
def test_what_only_one_of_both_depends_on_is_named(name: str, code: str, sentence: str):
    """The numbers are drawn anew; names are those of the solution."""
    found = reading(name, code)

    assert found is not None
    assert found.sentence == sentence
    assert found.question.endswith("?")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        pytest.param("Causal", "", id="right"),
        pytest.param("halve", "def halve(x):\n    return x.sum()\n", id="another-shape"),
        pytest.param("halve", "def halve(x):\n    return x / 0\n", id="infinite"),
        pytest.param("halve", "def halve(x):\n    raise ValueError\n", id="raises"),
        pytest.param("halve", "def halve(x):\n    return None\n", id="no-tensor"),
        pytest.param(
            "halve", "def halve(x):\n    return (x + x.roll(1, -1)) / 2\n", id="other-numbers"
        ),
    ],
)
def test_nothing_is_said_where_both_depend_on_the_same(name: str, code: str):
    """A wrong number alone is no reading."""
    assert reading(name, code) is None


def test_nothing_is_said_where_the_solution_draws_numbers():
    """Two calls of a right program may differ then."""
    code = "def noisy(x):\n    return x + torch.rand(4, 3)\n"
    solution = LocalChannel("readings", f"{SOLUTION}\n{code}".encode())
    recording = RecordingChannel(solution)
    Student(recording).call("noisy", TOKENS)
    call = find_call(solution, [recording.exchanges[0].request], [-1])
    assert call is not None
    theirs = LocalChannel("theirs", b"def noisy(x): return x")

    assert compare_effects(SolutionPair.of(RightCall(solution, call), theirs)) is None


def gradients(**found: torch.Tensor | None) -> Observation:
    """A run of a check that asked for gradients."""
    return Observation((("gradients", {"output": TOKENS, "gradients": found}),), None)


def test_a_gradient_that_reaches_others_is_missing():
    """One that is zero, or none at all, where the right one is neither."""
    ones, zeros = torch.ones(2), torch.zeros(2)
    right = gradients(W_query=ones, W_key=ones, W_value=ones)
    found = missing_gradients(gradients(W_query=ones, W_key=zeros, W_value=None), right)

    assert found is not None
    assert found.sentence == (
        "A gradient reaches W_query, but none, or only zeros, reaches W_key or W_value."
    )
    assert missing_gradients(gradients(W_query=None, W_key=None), right) is None
    assert missing_gradients(right, right) is None
    assert missing_gradients(right, gradients(W_query=ones, W_key=zeros)) is None
