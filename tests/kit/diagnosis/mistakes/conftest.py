"""Builders for tests of rules: what they make of code, and an exercise that is rewritten."""

import ast
from types import ModuleType

import pytest

from autograder.diagnosis.mistakes.rewriting import Edit, Rewrite, Site, mistake
from autograder.diagnosis.mistakes.scopes import Exercise
from tests.kit.diagnosis.operators.conftest import grader, one_thread, write_stage  # noqa: F401  # fixtures


def kinds_of(rules: ModuleType, code: str) -> set[str]:
    """Return the kinds that *rules* make of the exercise `wanted` in *code*; all compile."""
    return {rewrite.kind for rewrite in _rewrites(rules, code)}


def sentences_of(rules: ModuleType, code: str) -> set[str]:
    """Return the explanations of what *rules* make of the exercise `wanted` in *code*."""
    return {rewrite.explanation for rewrite in _rewrites(rules, code)}


def _rewrites(rules: ModuleType, code: str) -> list[Rewrite]:
    """Return what *rules* make of the exercise `wanted` in *code*; all compile."""
    exercise = Exercise(code, "wanted", ["wanted"])
    found = [
        rewrite for scope in exercise.scopes for rule in rules.RULES for rewrite in rule(scope)
    ]
    for rewrite in found:
        exercise.compile([rewrite], "mistake.py")
    return found


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
def exercise() -> Exercise:
    """The exercise `wanted`, beside another one that it uses."""
    return Exercise(WANTED, "wanted", ["wanted", "other"])


def changed(exercise: Exercise, *edits: Edit) -> str:
    """Return the last function with these edits, each a mistake of its own."""
    text = exercise.text([mistake("scale_missing", edit) for edit in edits])
    return ast.unparse(ast.parse(text).body[-1])


def only(exercise: Exercise, kind: type) -> Site:
    """Return the place of the only node of *kind* in the exercise."""
    (site,) = exercise.scopes[-1].of(kind)
    return site


def division(exercise: Exercise) -> Site:
    """Return the place of the division."""
    return next(
        site for site in exercise.scopes[-1].of(ast.BinOp) if isinstance(site.node.op, ast.Div)
    )
