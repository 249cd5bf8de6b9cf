"""Rewrites of places in a syntax tree."""

import ast

import pytest

from autograder.diagnosis.operators.rewrites import (
    before,
    leave_out,
    mistake,
    put,
    restate,
)
from autograder.diagnosis.operators.scopes import Exercise

SOLUTION = '''
def helper(x):
    """Help."""
    return x + 1


def other(x):
    return x - 1


def wanted(x: Tensor, n: int = 2) -> Tensor:
    """Do it."""
    if n > 3:
        raise ValueError("too large")
    y = helper(x) / n ** 0.5
    return other(y)
'''


@pytest.fixture
def exercise() -> Exercise:
    """The exercise `wanted`, beside another one that it uses."""
    return Exercise(SOLUTION, "wanted", ["wanted", "other"])


def changed(exercise: Exercise, *edits) -> str:
    """Return the last function with these edits, each a mistake of its own."""
    text = exercise.text([mistake("scale_missing", edit) for edit in edits])
    return ast.unparse(ast.parse(text).body[-1])


def only(exercise: Exercise, kind: type):
    """Return the place of the only node of *kind* in the exercise."""
    (site,) = exercise.scopes[-1].of(kind)
    return site


def division(exercise: Exercise):
    """Return the place of the division."""
    return next(
        site for site in exercise.scopes[-1].of(ast.BinOp) if isinstance(site.node.op, ast.Div)
    )


def test_a_node_is_replaced_by_a_template(exercise: Exercise):
    """Names in the template stand for parts of the node."""
    assert "y = helper(x) * n ** 0.5" in changed(exercise, put(division(exercise), "LEFT * RIGHT"))


def test_statements_are_left_out_restated_and_preceded(exercise: Exercise):
    """The rest of the function stays."""
    scope = exercise.scopes[-1]

    assert "raise" not in changed(exercise, leave_out(only(exercise, ast.If)))
    assert "return x" in changed(exercise, restate(only(exercise, ast.Return), "return x"))
    assert "seed()" in changed(exercise, before(scope.start, "seed()"))
