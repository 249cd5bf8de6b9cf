"""The tree of an exercise: rewrites are applied together, compiled, and undone."""

import ast

from autograder.diagnosis.mistakes.rewriting import (
    mistake,
    put,
)
from autograder.diagnosis.mistakes.scopes import Exercise
from tests.kit.diagnosis.mistakes.conftest import changed, division


def test_an_exercise_has_its_helpers_but_no_other_exercise(exercise: Exercise):
    """A mistake in another exercise is named there."""
    assert exercise.names == ["helper", "wanted"]


def test_arguments_are_tensors_by_their_annotations(exercise: Exercise):
    """What is no tensor is a number or a switch."""
    assert exercise.scopes[-1].tensors == ("x",)
    assert exercise.scopes[-1].numbers == ("n",)


def test_the_inner_edit_comes_first(exercise: Exercise):
    """Two mistakes in one expression show together."""
    power = next(
        site for site in exercise.scopes[-1].of(ast.BinOp) if isinstance(site.node.op, ast.Pow)
    )
    edits = put(division(exercise), "LEFT * RIGHT"), put(power, "LEFT")

    assert "y = helper(x) * n\n" in changed(exercise, *edits)


def test_edits_are_undone(exercise: Exercise):
    """The next mistake starts from the solution."""
    right = exercise.text([])
    changed(exercise, put(division(exercise), "LEFT"))

    assert exercise.text([]) == right


def test_a_program_is_compiled_without_docstrings(exercise: Exercise):
    """What is compiled defines the exercise and its helpers."""
    namespace: dict[str, object] = {"other": lambda y: y}
    code = exercise.compile([mistake("scale_missing", put(division(exercise), "LEFT"))], "x.py")
    exec(code, namespace)  # noqa: S102  # the code of this test

    assert namespace["wanted"](4) == 5
    assert namespace["wanted"].__doc__ is None
