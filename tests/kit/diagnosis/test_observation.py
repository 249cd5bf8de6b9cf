"""Tests comparing two runs of a check: equal, different, or different only in an exception."""

import math
import weakref
from functools import partial

import pytest
import torch

from autograder.diagnosis.observation import Match, Observation, compare
from autograder.results import Status
from autograder.sandbox.faults import Fault, NoGradients, Raised
from autograder.suite.checks import WrongAnswer
from autograder.suite.compare import agrees
from autograder.suite.student_proxy import RemoteModule, Student

WRONG = WrongAnswer(Status.WRONG_VALUE, "The result differs in 3 of 6 entries, by up to 0.5.")
OTHER = WrongAnswer(Status.WRONG_VALUE, "torch lists no parameter W_q.")
SHAPE = WrongAnswer(Status.WRONG_SHAPE, "The result has shape (3, 2).")
X = torch.tensor([[1.0, -2.0], [0.25, 30.0]])


def ran(*answers: object, error: BaseException | None = WRONG, verb: str = "call") -> Observation:
    """Return a run that got *answers* to one verb and ended in *error*."""
    return Observation(tuple((verb, answer) for answer in answers), error)


def raised(kind: str, text: str, line: str) -> Raised:
    """Return an exception of the student's code, as the supervisor describes it."""
    return Raised(kind, text, f"f raised {kind} in {line}\n{text}", public="f raised.")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(X, X + 5e-6, id="noise-of-float32"),
        pytest.param(X, X.clone().requires_grad_(), id="requires-grad-or-not"),
        pytest.param(
            torch.tensor([math.nan, math.inf]), torch.tensor([math.nan, math.inf]), id="not-finite"
        ),
        pytest.param(X.to(torch.float8_e4m3fn), X.to(torch.float8_e4m3fn), id="float8"),
        pytest.param(X.int(), X.int(), id="integers"),
        pytest.param({"W_q": X, "n": [1, "a", None]}, {"W_q": X, "n": [1, "a", None]}, id="nested"),
        pytest.param((0.5, math.nan), (0.5 + 1e-7, math.nan), id="numbers"),
        pytest.param(10**5000, 10**5000, id="huge-integers"),
        pytest.param(RemoteModule(Student(None), 1), RemoteModule(Student(None), 2), id="modules"),
    ],
)
def test_answers_that_agree_are_the_same(left: object, right: object):
    """Values may differ by float32 noise; modules are compared by their answers only."""
    assert compare(ran(left), ran(right)) is Match.YES


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(X, X + 1e-2, id="a-small-difference"),
        pytest.param(X, X.double(), id="dtype"),
        pytest.param(X, X.flatten(), id="shape"),
        pytest.param(X, X.tolist(), id="kind"),
        pytest.param(X.int(), X.int() + 1, id="integers"),
        pytest.param({"W_q": X}, {"W_k": X}, id="names"),
        pytest.param([X], [X, X], id="length"),
        pytest.param(True, 1, id="boolean-or-number"),
        pytest.param(0.5, math.nan, id="nan"),
    ],
)
def test_answers_that_differ_are_not_the_same(left: object, right: object):
    """Two lists of answers with one difference are not equal."""
    assert compare(ran(left), ran(right)) is Match.NO


@pytest.mark.parametrize("distance", [7e-4, 5e-3])
def test_answers_in_between_are_undecided(distance: float):
    """A difference that rounding or a mistake could cause is undecided."""
    assert compare(ran(X), ran(X + distance)) is Match.UNDECIDED


def test_every_answer_counts():
    """Two runs differ if one answer differs or one run has one more answer."""
    assert compare(ran(X, X), ran(X + 1, X)) is Match.NO
    assert compare(ran(X, X), ran(X)) is Match.NO


def test_the_outcome_counts():
    """Equal answers with a different status are different; messages may differ."""
    assert compare(ran(X), ran(X, error=SHAPE)) is Match.NO
    assert compare(ran(X), ran(X, error=None)) is Match.NO
    assert compare(ran(X), ran(X, error=OTHER)) is Match.YES


@pytest.mark.parametrize("verb", ["load", "mode", "move", "new", "operators"])
def test_answers_that_show_an_idiom_are_not_compared(verb: str):
    """Answers that only show an idiom, such as the operators that ran, are not compared."""
    left = Observation(((verb, {"mm": 1}), ("call", X)), WRONG)
    right = Observation(((verb, {"einsum": 2}), ("call", X)), WRONG)

    assert compare(left, right) is Match.YES


def test_without_answers_nothing_holds_an_answer():
    """A large answer is freed with the answers, even if the error can make a table of it."""
    answer = X.clone()
    freed = weakref.ref(answer)
    with pytest.raises(WrongAnswer) as caught:
        agrees([answer], [X + 1])
    error = caught.value
    error.public_suite_grid = error.grid = partial(print, answer)
    found = Observation((("call", answer),), error).without_answers()
    del answer, caught, error

    assert freed() is None
    assert isinstance(found.error, WrongAnswer)


def test_without_answers_the_messages_must_agree():
    """Without answers the messages must agree, except for numbers such as lines."""
    fault = Fault(Status.NOT_IMPLEMENTED, "f still raises NotImplementedError in line 3.")
    moved = Fault(Status.NOT_IMPLEMENTED, "f still raises NotImplementedError in line 7.")

    assert compare(ran(error=fault), ran(error=moved)) is Match.YES
    assert compare(ran(error=OTHER), ran(error=OTHER)) is Match.YES
    assert compare(ran(error=WRONG), ran(error=OTHER)) is Match.NO


def test_a_missing_part_agrees_with_records_that_begin_with_a_capital_letter():
    """The message about a parameter begins with its name, but a record has a capital letter."""
    named = Fault(Status.MISSING, "gate.weight has shape (3, 4), not (4, 3).")
    recorded = Fault(Status.MISSING, "Gate.weight has shape (3, 4), not (4, 3).")

    assert compare(ran(error=named), ran(error=recorded)) is Match.YES


def test_the_text_of_an_exception_alone_is_not_a_proof():
    """Equal exceptions prove a mistake only if they also quote the same code."""
    left = ran(error=raised("RuntimeError", "shapes (6x3 and 2x3)", "line 4: x @ w"))
    right = ran(error=raised("RuntimeError", "shapes (6x3 and 2x3)", "line 9: torch.mm(a, b)"))
    elsewhere = ran(error=raised("RuntimeError", "shapes (6x3 and 2x3)", "line 5: x @ w"))

    assert compare(left, right) is Match.TEXT_ONLY
    assert compare(left, elsewhere) is Match.YES


def test_a_shape_that_stops_gradients_is_not_a_proof():
    """A wrong shape without gradients proves no mistake, because many have this result."""
    error = NoGradients("ValueError", "the result has shape (2,)", "f returned.", public="")

    assert compare(ran(error=error), ran(error=error)) is Match.TEXT_ONLY


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(raised("RuntimeError", "shapes (5x3 and 2x3)", "line 4: x @ w"), id="text"),
        pytest.param(raised("ValueError", "shapes (6x3 and 2x3)", "line 4: x @ w"), id="type"),
        pytest.param(WRONG, id="no-exception"),
    ],
)
def test_exceptions_are_compared_by_type_and_text(other: BaseException):
    """Exceptions are compared by type and text, including the sizes in it."""
    error = raised("RuntimeError", "shapes (6x3 and 2x3)", "line 4: x @ w")

    assert compare(ran(X, error=error), ran(X, error=other)) is Match.NO
    assert compare(ran(X, error=error), ran(X, error=error)) is Match.YES


def test_the_values_of_buffers_are_not_compared():
    """A mask may contain ones or infinities; only its presence counts."""
    left, right = ran({"mask": X}, verb="buffers"), ran({"mask": X > 0}, verb="buffers")

    assert compare(left, right) is Match.YES
    assert compare(left, ran({}, verb="buffers")) is Match.NO


def test_a_mask_of_booleans_is_the_same_as_one_of_zeros_and_ones():
    """The dtype of a mask is an idiom; its entries are compared."""
    mask = X > 0

    assert compare(ran(mask), ran(mask.float())) is Match.YES
    assert compare(ran(mask), ran((~mask).float())) is Match.NO


def test_the_values_of_the_solutions_parameters_are_compared():
    """Any mask among the parameters is the same mistake; weights must be equal."""
    solution = ran({"W_q": X}, verb="parameters", error=None)
    left, right = (ran({"W_q": X, "mask": mask}, verb="parameters") for mask in (X, X.int()))
    other = ran({"W_q": X + 1, "mask": X}, verb="parameters")

    assert compare(left, right, solution) is Match.YES
    assert compare(left, right) is Match.NO
    assert compare(left, other, solution) is Match.NO
