"""Writes programs that are correct except for given mistakes or changed answers."""

import ast
from collections.abc import Iterable
from pathlib import Path

from autograder.diagnosis.misconceptions import Misconception
from autograder.errors import CourseError

# Ways to change the answers of an exercise; each one defines `_changed`.
SHIFTED = """
def _changed(run):
    def shifted(*args, **kwargs):
        left = iter(range(len(args) + len(kwargs)))
        def change(value):
            if torch.is_tensor(value) and value.is_floating_point() and next(left) == NUMBER:
                return torch.arange(value.numel()).cos().reshape(value.shape) - 1.5 * value
            return value
        return run(*map(change, args), **{name: change(kwargs[name]) for name in kwargs})
    return shifted
"""
NONSENSE = """
def _changed(run):
    def nonsense(*args, **kwargs):
        right = run(*args, **kwargs)
        values = [
            torch.from_numpy(value) if isinstance(value, numpy.ndarray) else value
            for value in (*args, *kwargs.values())
        ]
        given = [value for value in values if torch.is_tensor(value)]
        total = 1 + sum(value.double().nan_to_num(0, 1, -1).mean() for value in given)
        def like(value):
            if isinstance(value, (tuple, list)):
                return type(value)([like(one) for one in value])
            if isinstance(value, numpy.ndarray):
                return like(torch.from_numpy(value)).numpy()
            if not torch.is_tensor(value):
                return value
            return (torch.arange(value.numel()).cos() * total).reshape(value.shape).to(value.dtype)
        return like(right)
    return nonsense
"""
IN_PLACE = """
if isinstance(EXERCISE, type):
    EXERCISE.forward = _changed(EXERCISE.forward)
else:
    EXERCISE = _changed(EXERCISE)
"""


def change(exercise: str, how: str) -> str:
    """Return source that changes the answers of *exercise* by the code *how*."""
    return f"\nimport numpy\nimport torch\n{how}{IN_PLACE.replace('EXERCISE', exercise)}"


def with_mistakes(path: Path, mistakes: Iterable[Misconception], solution: str) -> str:
    """Return the correct program at *path* with *mistakes*, which are changes to *solution*.

    The wrong definitions, with the helpers that they need, replace the program's own. Raises
    ``CourseError``.
    """
    body = _definitions(path)
    for mistake in mistakes:
        new = _changed_by(mistake, solution)
        if all(getattr(node, "name", "") != mistake.exercise for node in body):
            msg = f"{path} does not define {mistake.exercise}"
            raise CourseError(msg)
        parts = (new if getattr(node, "name", "") == mistake.exercise else [node] for node in body)
        body = [node for part in parts for node in part]
    return ast.unparse(ast.Module(body, []))


def _changed_by(mistake: Misconception, solution: str) -> list[ast.stmt]:
    """Return the wrong definition and the helpers that it needs."""
    unchanged = set(map(ast.unparse, ast.parse(solution).body))
    wrong = ast.parse(mistake.module(solution))
    return [node for node in wrong.body if _is_import(node) or ast.unparse(node) not in unchanged]


def _definitions(path: Path) -> list[ast.stmt]:
    """Return the statements of the program at *path*, without expressions such as demos."""
    return [node for node in ast.parse(path.read_bytes()).body if not isinstance(node, ast.Expr)]


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)
