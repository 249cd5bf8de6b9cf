"""When two runs of a check show the same, and when they only seem to."""

import math

import pytest
import torch

from autograder.diagnosis.observation import Observation, matches, matches_conclusively
from autograder.results import Status
from autograder.sandbox.faults import Fault, Raised
from autograder.suite.checks import WrongAnswer
from autograder.suite.student_proxy import RemoteModule

WRONG = WrongAnswer(Status.WRONG_VALUE, "The result differs in 3 of 6 entries, by up to 0.5.")
OTHER = WrongAnswer(Status.WRONG_VALUE, "There is no parameter W_q.")
SHAPE = WrongAnswer(Status.WRONG_SHAPE, "The result has shape (3, 2).")
X = torch.tensor([[1.0, -2.0], [0.25, 30.0]])


def ran(*answers: object, error: BaseException | None = WRONG, verb: str = "call") -> Observation:
    """A run that saw *answers* to one verb and ended in *error*."""
    return Observation(tuple((verb, answer) for answer in answers), error)


def raised(kind: str, text: str, line: str) -> Raised:
    """An exception of the student's code, as the supervisor tells it."""
    return Raised(kind, text, f"f raised {kind} in {line}\n{text}", public="f raised.")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(X, X + 5e-6, id="noise-of-float32"),
        pytest.param(X, X.clone().requires_grad_(), id="trained-or-not"),
        pytest.param(
            torch.tensor([math.nan, math.inf]), torch.tensor([math.nan, math.inf]), id="odd"
        ),
        pytest.param(X.to(torch.float8_e4m3fn), X.to(torch.float8_e4m3fn), id="float8"),
        pytest.param(X.int(), X.int(), id="integers"),
        pytest.param({"W_q": X, "n": [1, "a", None]}, {"W_q": X, "n": [1, "a", None]}, id="nested"),
        pytest.param((0.5, math.nan), (0.5 + 1e-7, math.nan), id="numbers"),
        pytest.param(10**5000, 10**5000, id="huge-integers"),
        pytest.param(RemoteModule(None, 1), RemoteModule(None, 2), id="modules"),
    ],
)
def test_answers_that_agree_are_the_same(left: object, right: object):
    """Agreement is as tight as float32 allows; a module is told by what it answers."""
    assert matches_conclusively(ran(left), ran(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(X, X + 1e-3, id="a-quiet-difference"),
        pytest.param(X, X.double(), id="dtype"),
        pytest.param(X, X.flatten(), id="shape"),
        pytest.param(X, X.tolist(), id="kind"),
        pytest.param(X.int(), X.int() + 1, id="integers"),
        pytest.param({"W_q": X}, {"W_k": X}, id="names"),
        pytest.param([X], [X, X], id="length"),
        pytest.param(True, 1, id="truth-is-no-number"),
        pytest.param(0.5, math.nan, id="nan"),
    ],
)
def test_answers_that_differ_are_not_the_same(left: object, right: object):
    """One difference is enough."""
    assert not matches(ran(left), ran(right))


def test_every_answer_counts():
    """An equal last answer does not outweigh an earlier one, nor one more."""
    assert not matches_conclusively(ran(X, X), ran(X + 1, X))
    assert not matches_conclusively(ran(X, X), ran(X))


def test_the_end_counts_as_an_outcome():
    """The same answers that were judged otherwise are not the same."""
    assert not matches_conclusively(ran(X), ran(X, error=SHAPE))
    assert not matches_conclusively(ran(X), ran(X, error=None))
    assert matches_conclusively(ran(X), ran(X, error=OTHER))


@pytest.mark.parametrize("verb", ["load", "mode", "new", "operators"])
def test_what_tells_an_idiom_is_not_compared(verb: str):
    """Which operators ran says nothing about a mistake; what the call returned does."""
    left = Observation(((verb, {"mm": 1}), ("call", X)), WRONG)
    right = Observation(((verb, {"einsum": 2}), ("call", X)), WRONG)

    assert matches_conclusively(left, right)


def test_where_nothing_was_answered_the_words_must_agree():
    """Numbers in them may differ, such as that of a line."""
    fault = Fault(Status.NOT_IMPLEMENTED, "f still raises NotImplementedError in line 3.")
    moved = Fault(Status.NOT_IMPLEMENTED, "f still raises NotImplementedError in line 7.")

    assert matches_conclusively(ran(error=fault), ran(error=moved))
    assert matches_conclusively(ran(error=OTHER), ran(error=OTHER))
    assert not matches(ran(error=WRONG), ran(error=OTHER))


def test_the_text_of_an_exception_alone_tells_nothing():
    """Another line that raises the same is alike, and no proof of the same mistake."""
    left = ran(error=raised("RuntimeError", "shapes (6x3 and 2x3)", "line 4: x @ w"))
    right = ran(error=raised("RuntimeError", "shapes (6x3 and 2x3)", "line 9: torch.mm(a, b)"))
    elsewhere = ran(error=raised("RuntimeError", "shapes (6x3 and 2x3)", "line 5: x @ w"))

    assert matches(left, right)
    assert not matches_conclusively(left, right)
    assert matches_conclusively(left, elsewhere)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(raised("RuntimeError", "shapes (5x3 and 2x3)", "line 4: x @ w"), id="text"),
        pytest.param(raised("ValueError", "shapes (6x3 and 2x3)", "line 4: x @ w"), id="type"),
        pytest.param(WRONG, id="no-exception"),
    ],
)
def test_exceptions_are_compared_by_type_and_text(other: BaseException):
    """Sizes in the text are part of what was seen."""
    error = raised("RuntimeError", "shapes (6x3 and 2x3)", "line 4: x @ w")

    assert not matches(ran(X, error=error), ran(X, error=other))
    assert matches_conclusively(ran(X, error=error), ran(X, error=error))


def test_what_a_buffer_holds_is_free():
    """A mask may be of ones or of infinities; whether it is there counts."""
    left, right = ran({"mask": X}, verb="buffers"), ran({"mask": X > 0}, verb="buffers")

    assert matches_conclusively(left, right)
    assert not matches_conclusively(left, ran({}, verb="buffers"))


def test_what_a_parameter_holds_counts_where_the_solution_has_one():
    """A mask among the parameters is a mistake whatever it holds; a weight must be equal."""
    ours = ran({"W_q": X}, verb="parameters", error=None)
    left, right = (ran({"W_q": X, "mask": mask}, verb="parameters") for mask in (X, X.int()))

    assert matches_conclusively(left, right, ours)
    assert not matches_conclusively(left, right)
    assert not matches_conclusively(left, ran({"W_q": X + 1, "mask": X}, verb="parameters"), ours)


def test_the_answer_judged_last_is_at_hand():
    """It is what a general reading looks at."""
    assert ran(1, 2).last == 2
    assert ran().last is None
