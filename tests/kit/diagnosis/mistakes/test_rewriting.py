"""Tests rewrites of places in a syntax tree."""

import ast

from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from autograder.diagnosis.mistakes.rewriting import (
    before,
    leave_out,
    mistake,
    put,
    restate,
)
from tests.kit.diagnosis.mistakes.conftest import changed, division, only


def test_a_node_is_replaced_by_a_template(exercise: ExerciseCode):
    """Names in the template represent parts of the node."""
    assert "y = helper(x) * n ** 0.5" in changed(exercise, put(division(exercise), "LEFT * RIGHT"))


def test_statements_are_left_out_restated_and_preceded(exercise: ExerciseCode):
    """A changed statement leaves the rest of the function unchanged."""
    scope = exercise.scopes[-1]

    assert "raise" not in changed(exercise, leave_out(only(exercise, ast.If)))
    assert "return x" in changed(exercise, restate(only(exercise, ast.Return), "return x"))
    assert "seed()" in changed(exercise, before(scope.start, "seed()"))


def test_an_exercise_has_its_helpers_but_no_other_exercise(exercise: ExerciseCode):
    """An exercise contains its helpers, but no other exercise, whose mistakes are named there."""
    assert exercise.names == ["helper", "wanted"]


def test_arguments_are_tensors_by_their_annotations(exercise: ExerciseCode):
    """An argument that is not annotated as a tensor is a number or a switch."""
    assert exercise.scopes[-1].tensors == ("x",)
    assert exercise.scopes[-1].numbers == ("n",)


def test_the_inner_edit_comes_first(exercise: ExerciseCode):
    """The inner of two edits in one expression is applied first, so both show."""
    power = next(
        site for site in exercise.scopes[-1].of(ast.BinOp) if isinstance(site.node.op, ast.Pow)
    )
    edits = put(division(exercise), "LEFT * RIGHT"), put(power, "LEFT")

    assert "y = helper(x) * n\n" in changed(exercise, *edits)


def test_edits_are_undone(exercise: ExerciseCode):
    """An edit is undone, so the next mistake starts from the solution."""
    right = exercise.text([])
    changed(exercise, put(division(exercise), "LEFT"))

    assert exercise.text([]) == right


def test_a_program_is_compiled_without_docstrings(exercise: ExerciseCode):
    """The compiled program defines the exercise and its helpers."""
    namespace: dict[str, object] = {"other": lambda y: y}
    code = exercise.compile([mistake("scale_missing", put(division(exercise), "LEFT"))], "x.py")
    exec(code, namespace)  # noqa: S102  # it runs code of this test

    assert namespace["wanted"](4) == 5
    assert namespace["wanted"].__doc__ is None
