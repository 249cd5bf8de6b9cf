"""Builds the mistakes that rules make in code, for tests of these rules."""

import ast
import difflib
from types import ModuleType

import pytest

from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Scope,
    Site,
    mistake,
)
from autograder.diagnosis.mistakes.rules import RULES


def made_by(rules: ModuleType, code: str) -> dict[str, str]:
    """Return the mistakes of *rules* in the exercise `wanted` of *code*; all compile.

    Return, for each sentence, the changed lines of the first program that it describes.
    """
    exercise = ExerciseCode(code, "wanted", ["wanted"])
    right = exercise.text([]).splitlines()
    made: dict[str, str] = {}
    for scope in exercise.scopes:
        for rewrite in _rewrites(rules, scope):
            exercise.compile([rewrite], "mistake.py")
            compared = difflib.ndiff(right, exercise.text([rewrite]).splitlines())
            lines = [line[2:].strip() for line in compared if line.startswith("+")]
            made.setdefault(rewrite.explanation, "; ".join(lines))
    return made


def as_made(text: str) -> dict[str, str]:
    """Read sentences, each above the lines of its program, as ``made_by`` returns them."""
    lines = text.strip().splitlines()
    return {one: line.strip() for one, line in zip(lines[::2], lines[1::2], strict=True)}


def _rewrites(rules: ModuleType, scope: Scope) -> list[Rewrite]:
    own = [rule for rule in RULES if rule.__module__ == rules.__name__]
    return [rewrite for rule in own for rewrite in rule(scope)]


WANTED = '''
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
def exercise() -> ExerciseCode:
    """The exercise `wanted`, next to another one that it uses."""
    return ExerciseCode(WANTED, "wanted", ["wanted", "other"])


def changed(exercise: ExerciseCode, *edits: Edit) -> str:
    """Return the last function with these edits, each a separate mistake."""
    text = exercise.text([mistake("scale_missing", edit) for edit in edits])
    return ast.unparse(ast.parse(text).body[-1])


def only(exercise: ExerciseCode, kind: type) -> Site:
    """Return the place of the only node of *kind* in the exercise."""
    (site,) = exercise.scopes[-1].of(kind)
    return site


def division(exercise: ExerciseCode) -> Site:
    """Return the place of the division."""
    return next(
        site for site in exercise.scopes[-1].of(ast.BinOp) if isinstance(site.node.op, ast.Div)
    )
