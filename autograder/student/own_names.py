"""Finds which names a definition in a learner's module uses."""

import ast
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from autograder.submission.exercise_cells import DEFINITION


def used_names(text: str, name: str, others: Collection[str]) -> tuple[str, ...]:
    """Return which of *others* the definition of *name* uses, itself or through helpers.

    It is empty if *text* is not valid Python.
    """
    uses = _uses(text)
    found: list[str] = []
    left = [name]
    seen = {name}
    while left:
        for one in uses.get(left.pop(0), ()):
            if one in uses and one not in seen:
                seen.add(one)
                (found if one in others else left).append(one)
    return tuple(found)


@lru_cache(maxsize=1)  # a check asks about every exercise of a module, and a screen again
def _uses(text: str) -> Mapping[str, Sequence[str]]:
    """Map each definition in *text* to the names that it reads; empty for an invalid module."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return {node.name: _loaded(node) for node in body if isinstance(node, DEFINITION)}


def _loaded(node: ast.AST) -> list[str]:
    """List the names that *node* reads, in the order of their places."""
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    names.sort(key=lambda one: (one.lineno, one.col_offset))
    return list(dict.fromkeys(one.id for one in names if isinstance(one.ctx, ast.Load)))
