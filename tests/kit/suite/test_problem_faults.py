"""Tests the status and the sentence of each problem, which reveal nothing hidden."""

import re

import pytest

from autograder.results import Status
from autograder.sandbox.protocol import Problem
from autograder.suite.student_proxy import fault_of

KINDS = (
    "missing",
    "other-order",
    "not-implemented",
    "raised",
    "bad-output",
    "out-of-memory",
    "out-of-disk",
    "out-of-time",
    "not-compiled",
    "rebound",
)


@pytest.mark.parametrize("kind", KINDS)
def test_no_public_sentence_holds_a_word_or_a_number_of_a_problem(kind: str):
    """The public sentence has no word or number of a problem, which code could forge."""
    forged = Problem(kind=kind, type="T187", text="187", place="cell 187", line=187, code="187")
    fault = fault_of(forged, "mix")

    assert "187" in fault.message
    assert not re.search(r"\d", fault.public)


@pytest.mark.parametrize(
    ("problem", "status", "excerpt"),
    [
        pytest.param(
            Problem(kind="missing", text="double is not defined"),
            Status.MISSING,
            "double is not defined.",
            id="missing",
        ),
        pytest.param(
            Problem(kind="missing", text="gate.weight has shape (3, 4), not (4, 3)"),
            Status.MISSING,
            "gate.weight has shape (3, 4), not (4, 3).",
            id="parameter",
        ),
        pytest.param(
            Problem(kind="missing", text="torch lists no parameter gate.bias; found: none"),
            Status.MISSING,
            "torch lists no parameter gate.bias; found: none.",
            id="sentence",
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
def test_each_problem_has_a_status_and_a_sentence(problem: Problem, status: Status, excerpt: str):
    """Each problem has a status and a sentence with its place."""
    fault = fault_of(problem, "double")

    assert fault.status is status
    assert excerpt in fault.message
