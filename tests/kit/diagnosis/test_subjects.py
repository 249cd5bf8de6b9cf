"""Subjects: what a call gives under changes, from the solution and from a student's code."""

from collections.abc import Sequence

import pytest
import torch

from autograder.diagnosis.changed_calls import UNCHANGED, Call, Change
from autograder.diagnosis.subjects import Pair, Subject
from autograder.sandbox.protocol import Reply, Request
from autograder.suite.in_process import LocalChannel
from autograder.suite.student_proxy import Student
from tests.kit.diagnosis.test_changed_calls import HIDDEN, SOLUTION, last_call

ROW = Change("row", "input", 1)
WRONG = """
def mix(x, mask, scale=1.0):
    return x.cumsum(0)
"""


class CountingChannel(LocalChannel):
    """Counts the messages that a session would send."""

    messages = 0

    def ask_every(self, requests: Sequence[Request]) -> tuple[Reply, ...]:
        """Count, and answer."""
        self.messages += 1
        return super().ask_every(requests)


def layer_call(student: Student) -> object:
    """Ask as a check of ``Layer`` does."""
    return student.new("Layer", 2, 3)(HIDDEN)


def mix_call(student: Student) -> object:
    """Ask as a check of ``mix`` does."""
    return student.call("mix", HIDDEN, torch.ones(2, 2))


@pytest.fixture
def layer() -> Call:
    """A call of a module with two parameters."""
    call = last_call(layer_call)
    assert call is not None
    return call


@pytest.fixture
def pair() -> Pair:
    """The solution, which multiplies by a mask, and code that adds the rows above."""
    call = last_call(mix_call)
    assert call is not None
    subjects = (Subject(LocalChannel("pair", code), call) for code in (SOLUTION, WRONG.encode()))
    pair = Pair(call, *subjects)
    pair.ask([UNCHANGED])
    return pair


def test_all_changes_are_asked_in_one_message(layer: Call):
    """None of them depends on an answer, and none is asked twice."""
    channel = CountingChannel("counted", SOLUTION)
    subject = Subject(channel, layer)
    for _ in range(2):
        subject.ask([UNCHANGED, Change("times", "weight", 2), ROW])
    before, after = subject.answer(UNCHANGED), subject.answer(ROW)

    assert channel.messages == 1
    assert before is not None
    assert after is not None
    assert (before == after).all(1).tolist() == [True, False]


def test_code_that_can_not_be_set_up_answers_nothing(layer: Call):
    """Its parameters have other names than the solution's."""
    code = b"from torch import nn\nclass Layer(nn.Module):\n    def forward(self, x): return x\n"
    subject = Subject(LocalChannel("other", code), layer)
    subject.ask([UNCHANGED])

    assert subject.answer(UNCHANGED) is None
    assert subject.difference(ROW) is None


def test_a_difference_is_relative_to_the_largest_number(layer: Call):
    """A doubled weight doubles the result but for the bias, which is added once."""
    doubled = Change("times", "weight", 2)
    subject = Subject(LocalChannel("other", SOLUTION.replace(b"    pass", BIAS_OFF)), layer)
    subject.ask([UNCHANGED, doubled])
    once, twice = subject.difference(doubled), subject.difference(doubled, 2)

    assert once is not None
    assert twice is not None
    assert float(once.max()) == pytest.approx(1)
    assert float(twice.max()) == pytest.approx(0, abs=1e-6)


BIAS_OFF = b"    def forward(self, input): return nn.functional.linear(input, self.weight)"


def test_a_pair_compares_what_a_change_moves(pair: Pair):
    """The first row moves one row of the right result, and both of the other."""
    first = Change("row", "x", 0)
    pair.ask([first])
    found = pair.differences(first)

    assert found is not None
    assert [(one > 0).any(1).tolist() for one in found] == [[True, False], [True, True]]


def test_a_change_that_was_not_asked_has_no_differences(pair: Pair):
    """Nor has one after which one of the two answers nothing."""
    assert pair.differences(Change("other", "x")) is None


def test_arguments_of_a_pair_are_not_parameters(layer: Call):
    """Masks are none of them either: their numbers are never drawn."""
    subject = Subject(LocalChannel("other", SOLUTION), layer)

    assert [name for name, _ in Pair(layer, subject, subject).arguments()] == ["input"]
