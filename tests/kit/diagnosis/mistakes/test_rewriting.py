"""Rewrites of places in a syntax tree."""

import ast

from autograder.diagnosis.mistakes.rewriting import (
    before,
    leave_out,
    put,
    restate,
)
from autograder.diagnosis.mistakes.scopes import Exercise
from tests.kit.diagnosis.mistakes.conftest import changed, division, only


def test_a_node_is_replaced_by_a_template(exercise: Exercise):
    """Names in the template stand for parts of the node."""
    assert "y = helper(x) * n ** 0.5" in changed(exercise, put(division(exercise), "LEFT * RIGHT"))


def test_statements_are_left_out_restated_and_preceded(exercise: Exercise):
    """The rest of the function stays."""
    scope = exercise.scopes[-1]

    assert "raise" not in changed(exercise, leave_out(only(exercise, ast.If)))
    assert "return x" in changed(exercise, restate(only(exercise, ast.Return), "return x"))
    assert "seed()" in changed(exercise, before(scope.start, "seed()"))
