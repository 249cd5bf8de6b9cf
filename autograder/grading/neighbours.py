"""Finds the exercises that an exercise uses, and writes their definitions of the solution.

An exercise is graded for what it adds. Its failed checks run once more on the student's code,
followed by the solution's definitions of the wrong exercises that it uses. Only pass or fail of
these checks leaves the second run.
"""

import ast
import textwrap
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from autograder.course import Stage
from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from autograder.sandbox.static_names import definitions, parse, reached_uses
from autograder.suite.checks import CollectedCheck

# The definition is in a function, so that its helpers replace no helper of the student's. Classes
# that inherit from the old one inherit from the new one.
SCOPE = """
def _right(_old):
{body}
    for _one in [*globals().values()]:
        if isinstance(_one, type) and _old in _one.__bases__:
            _one.__bases__ = tuple({name} if base is _old else base for base in _one.__bases__)
    return {name}
{name} = _right(globals().get("{name}"))
"""


class Neighbours:
    """The exercises of one stage that its exercises use, in the solution or a variant.

    An exercise uses only exercises that come before it in the stage, so there is no cycle. A check
    that passes another exercise to its own (*needs*) uses it, too.
    """

    def __init__(self, stage: Stage, checks: Iterable[CollectedCheck]) -> None:
        self._names = [exercise.name for exercise in stage.exercises]
        self._paths = (stage.solution, *stage.variants)
        self._needs = {(check.spec.exercise, name) for check in checks for name in check.spec.needs}
        self._solution = stage.solution

    def of(self, exercise: str) -> list[str]:
        """List the exercises that *exercise* uses, directly or through others, in order."""
        found = self._direct[exercise]
        below = {name for one in found for name in self.of(one)}
        return [name for name in self._names if name in {*found, *below}]

    def code(self, names: Collection[str]) -> bytes:
        """Return the solution's definitions of the exercises *names*, as one cell."""
        text = self._solution.read_text("utf-8")
        shared = _shared_statements(text)
        return "".join(self._definition(text, shared, name) for name in names).encode()

    @cached_property
    def _direct(self) -> Mapping[str, list[str]]:
        """The exercises that each exercise uses directly."""
        used = set(self._needs)
        for path in self._paths:
            known = definitions(parse((path.read_bytes(),)))
            for name in self._names:
                used |= {(name, use.name) for use in reached_uses(known, name)}
        return {
            name: [one for one in self._names[:place] if (name, one) in used]
            for place, name in enumerate(self._names)
        }

    def _definition(self, text: str, shared: str, name: str) -> str:
        body = f"{shared}\n{ExerciseCode(text, name, self._names).text([])}"
        return SCOPE.format(body=textwrap.indent(body, "    "), name=name)


def _shared_statements(text: str) -> str:
    """Return the imports and constants at the top level of a solution."""
    shared = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign)
        and not (isinstance(node, ast.ImportFrom) and node.module == "__future__")
    ]
    return "\n".join(map(ast.unparse, shared))
