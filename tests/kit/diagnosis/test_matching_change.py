"""A wrong result is compared with those of the right computation with one change."""

import pytest
import torch

from autograder.diagnosis.changed_calls import all_changes, find_call
from autograder.diagnosis.heuristics import Pattern
from autograder.diagnosis.matching_change import matching_change
from autograder.diagnosis.single_changes import RightCall, SolutionPair
from autograder.suite.in_process import LocalChannel, RecordingChannel
from autograder.suite.student_proxy import Student

SOLUTION = """
import torch
from torch import nn

def attend(queries, keys, values):
    scores = queries @ keys.mT
    return torch.softmax(scores / keys.shape[-1] ** 0.5, -1) @ values

def scale(scores, d_k):
    return torch.softmax(scores / d_k ** 0.5, -1)

def gram(x):
    return x @ x.mT

def total(x):
    return x.sum()

class Attention(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x):
        weights = torch.softmax(self.W_query(x) @ x.mT, -1)
        return weights @ self.W_value(x)
"""
ATTEND = "def attend(queries, keys, values):\n    return "
START = "Your result is what the right computation gives if "


def call_of(solution: LocalChannel, name: str, tokens: int, size: int) -> RightCall:
    """Return a call of *name* with other sizes for other arguments."""
    recording = RecordingChannel(solution)
    student = Student(recording)
    matrix = torch.rand(tokens, size)
    if name == "Attention":
        student.new("Attention", size, size)(matrix)
    else:
        arguments = {"attend": (matrix,) * 3, "gram": (matrix,), "total": (matrix,)}
        student.call(name, *arguments.get(name, (torch.rand(tokens, tokens), size)))
    handles = [getattr(answer, "handle", -1) for _, answer in student.observed]
    call = find_call(solution, [one.request for one in recording.exchanges], handles)
    assert call is not None
    return RightCall(solution, call)


def change(name: str, code: str, *others: tuple[int, int]) -> Pattern:
    """Compare *code* with the solution in a call with 5 tokens of size 3, and in *others*."""
    solution = LocalChannel("changes", SOLUTION.encode())
    theirs = LocalChannel("theirs", f"{SOLUTION}\n{code}".encode())
    calls = [call_of(solution, name, *sizes) for sizes in ((5, 3), *others)]
    pair, *more = (SolutionPair.of(right, theirs) for right in calls)
    pair.ask(list(all_changes(pair.call)))
    return matching_change(pair, more)


@pytest.mark.parametrize(
    ("name", "code", "others", "sentence"),
    [
        pytest.param(
            "attend",
            f"{ATTEND}torch.softmax(queries @ keys.mT / len(keys), -1) @ values\n",
            [(7, 6)],
            "it divides by 5 (the number of rows of queries) where it should divide by 1.732 (the "
            "root of the size of the last axis of queries).",
            id="number-of-tokens",
        ),
        pytest.param(
            "attend",
            f"{ATTEND}torch.softmax(queries @ keys.mT / 5, -1) @ values\n",
            [(7, 6)],
            "it divides by 5 where it should divide by 1.732 (the root of the size of the last "
            "axis of queries).",
            id="always-five",
        ),
        pytest.param(
            "attend",
            f"{ATTEND}torch.softmax(queries @ keys.mT / len(keys), -1) @ values\n",
            [],
            "it divides by 5 where it should divide by 1.732.",
            id="only-one-size-is-known",
        ),
        pytest.param(
            "attend",
            f"{ATTEND}torch.softmax(queries @ keys.mT, -1) @ values\n",
            [(7, 6)],
            "it does not divide by 1.732 (the root of the size of the last axis of queries).",
            id="not-at-all",
        ),
        pytest.param(
            "attend",
            f"{ATTEND}torch.softmax(0.7 * queries @ keys.mT / 3**0.5, -1) @ values\n",
            [],
            "the numbers that it divides by 1.732 are first multiplied by 0.7.",
            id="one-factor-more",
        ),
        pytest.param(
            "attend",
            f"{ATTEND}values.mean(0, keepdim=True).expand(len(queries), -1)\n",
            [],
            "the numbers that it divides by 1.732 are first multiplied by 0.",
            id="factor-of-zero",
        ),
        pytest.param(
            "attend",
            f"{ATTEND}torch.softmax(queries @ keys.mT / (len(keys) - 4), -1) @ values\n",
            [(7, 6)],
            "it divides by 1 in one call and 3 in another where it should divide by 1.732 (the "
            "root of the size of the last axis of queries).",
            id="one-in-one-call-only",
        ),
        pytest.param(
            "scale",
            "def scale(scores, d_k):\n    return torch.softmax(scores / d_k, -1)\n",
            [(4, 7)],
            "it divides by 3 (d_k) where it should divide by 1.732 (the root of d_k).",
            id="number-that-is-passed",
        ),
        pytest.param(
            "attend",
            f"{ATTEND}torch.softmax(queries @ keys.mT / 3**0.5, -1) @ values.abs()\n",
            [],
            "all numbers in values lose their sign.",
            id="signs-lost",
        ),
        pytest.param(
            "gram",
            "def gram(x):\n    return (x @ x.mT).flip(-2)\n",
            [],
            "the rows of its result are in reverse order.",
            id="result-reversed",
        ),
        pytest.param(
            "total",
            "def total(x):\n    return (x * x).sum()\n",
            [],
            "all numbers in x are squared.",
            id="a-single-number",
        ),
        pytest.param(
            "gram",
            "def gram(x):\n    return x @ x.mT + 0.25\n",
            [],
            "0.25 is added to all numbers in its result.",
            id="summand",
        ),
        pytest.param(
            "Attention",
            "class Attention(Attention):\n"
            "    def forward(self, x):\n"
            "        weights = torch.softmax(torch.relu(self.W_query(x)) @ x.mT, -1)\n"
            "        return weights @ self.W_value(x)\n",
            [],
            "zeros take the place of the negative numbers in its product with W_query.weight.",
            id="product-with-a-parameter",
        ),
        pytest.param(
            "attend",
            f"{ATTEND}torch.softmax((queries @ keys.mT / 3**0.5).abs(), -1) @ values\n",
            [],
            "all numbers in what goes into its softmax lose their sign.",
            id="into-the-softmax",
        ),
        pytest.param(
            "attend",
            f"{ATTEND}torch.softmax(queries @ keys.mT / 3**0.5, -1).square() @ values\n",
            [],
            "all numbers in what comes out of its softmax are squared.",
            id="out-of-the-softmax",
        ),
        pytest.param(
            "Attention",
            "class Attention(Attention):\n"
            "    def forward(self, x):\n"
            "        weights = torch.softmax(-3 * self.W_query(x) @ x.mT, -1)\n"
            "        return weights @ self.W_value(x)\n",
            [],
            "all numbers in W_query.weight are multiplied by -3.",
            id="parameter",
        ),
    ],
)
def test_one_change_that_gives_the_result_is_named(
    name: str, code: str, others: list[tuple[int, int]], sentence: str
):
    """A number is called a size where calls with other sizes agree."""
    found = change(name, code, *others)

    assert found is not None
    assert found.sentence == START + sentence
    assert found.question.endswith("?")


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("torch.softmax(torch.sin(s / 3**0.5), -1) @ values", id="almost-linear"),
        pytest.param("torch.softmax(s / 2, -1) @ values.flip(-1)", id="two-changes"),
        pytest.param("torch.softmax(s / 2, 0) @ values", id="another-axis"),
        pytest.param("torch.softmax(s / 2, -1) @ values[:1]", id="another-shape"),
        pytest.param("torch.softmax(s, -1).matrix_power(2) @ values", id="another-step"),
    ],
)
def test_nothing_is_said_where_no_change_fits_all_inputs(code: str):
    """Small numbers alone would make many functions look alike."""
    body = f"def attend(queries, keys, values):\n    s = queries @ keys.mT\n    return {code}\n"

    assert change("attend", body, (7, 6)) is None
