"""Tests the recognition of results in the wrong form."""

import pytest
import torch

from autograder.diagnosis.result_form import find_error, find_tuple
from autograder.sandbox.protocol import OpaqueValue
from tests.kit.diagnosis.conftest import Grader

X = torch.ones(2)
ATTEND = """
def attend(queries, keys, values):
    if queries.shape[-1] != keys.shape[-1]:
        {}
    return {}
"""
RIGHT = "torch.softmax(queries @ keys.T / 2, dim=-1) @ values"


@pytest.mark.parametrize("answer", [(X,), [X]])
def test_a_tensor_alone_in_a_tuple_is_recognized(answer: object):
    """A tensor alone in a tuple or a list is recognized."""
    found = find_tuple(answer, X)

    assert found is not None
    assert found.name == "tuple_for_result"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(X, X), ((X, X), X), ((), X), ((X,), (X,)), ((2.0,), X), ("x", X)],
)
def test_other_results_are_not_in_a_tuple(answer: object, expected: object):
    """A tuple of several results is not described as one result in a tuple."""
    assert find_tuple(answer, expected) is None


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("ValueError", "exception_as_result"),
        ("Exception", "exception_as_result"),
        ("type", None),
        ("object", None),
        ("builtins", None),
        ("torch.Size", None),
    ],
)
def test_an_exception_as_a_result_is_recognized(kind: str, name: str | None):
    """A returned exception is recognized by its type, because a worker sends only the type."""
    found = find_error(OpaqueValue(kind))

    assert (found and found.name) == name
    assert find_error(X) is None


@pytest.mark.parametrize(
    ("check", "result", "name"),
    [
        pytest.param(
            "return TypeError('sizes')", RIGHT, "exception_as_result", id="of-another-type"
        ),
        pytest.param("raise ValueError", "values.sin().cos()[:3],", "tuple_for_result", id="comma"),
    ],
)
def test_the_form_is_described(check: str, result: str, name: str, grader: Grader):
    """The form of a result is recognized even if no wrong program has the same answers."""
    assert name in grader.kinds("attend", ATTEND.format(check, result))
