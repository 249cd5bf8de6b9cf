"""Determines the order in which a stage's classes take the arguments of their constructors.

The stub states this order. A constructor with a different order gets its arguments by name, and
only the first check of the exercise grades the order.
"""

import ast
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from autograder.results import Status
from autograder.sandbox.protocol import Problem, Verb
from autograder.suite.checks import WrongAnswer

CONSTRUCTORS: Final = "CONSTRUCTORS"  # the constant in a public suite that holds the arguments
BUILDING: Final[frozenset[Verb]] = frozenset({"new", "call"})  # verbs that may construct a class


class WrongOrder(WrongAnswer):
    """Raised when a constructor takes its arguments in a different order."""


class ArgumentOrder(NamedTuple):
    """The *arguments* of each class; the check grades those of the class *graded*, if any."""

    arguments: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    graded: str = ""

    def fields(self, verb: Verb, name: str) -> dict[str, object]:
        """Return the fields about the order for a request of *verb*, if it constructs *name*."""
        names = self.arguments.get(name, ()) if verb in BUILDING else ()
        return {"arguments": names, "in_order": name == self.graded} if names else {}

    def wrong_answer(self, problem: Problem, name: str) -> WrongOrder | None:
        """Return the wrong answer to raise if *problem* is a different order, otherwise None."""
        names = self.arguments.get(name, ())
        if problem.kind != "other-order" or not names:
            return None
        asked = f"({', '.join(names)})"
        elsewhere = (
            "The other checks pass the arguments by name, so a wrong order costs points only here."
        )
        public = f"The constructor of {name} must take its arguments in the order {asked}."
        message = (
            f"The constructor of {name} takes {problem.text}; "
            f"it must take its arguments in the order {asked}."
        )
        return WrongOrder(
            Status.WRONG_VALUE, f"{public}\n{elsewhere}", message=f"{message}\n{elsewhere}"
        )


ANY_ORDER: Final = ArgumentOrder()


def constructors_in(source: str, exercises: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the constructor arguments of each class among *exercises* that takes two or more.

    Only arguments that may be given by position or by name count.
    """
    classes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    found = {name: _arguments(classes[name], classes) for name in exercises if name in classes}
    return {name: names for name, names in found.items() if len(names) > 1}


def _arguments(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> tuple[str, ...]:
    """Return the arguments of the constructor, which may be that of a base class."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            given = method.args
            plain = not given.posonlyargs and given.vararg is None
            return tuple(one.arg for one in given.args[1:]) if plain else ()
    bases = (
        classes[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in classes
    )
    return next((_arguments(base, classes) for base in bases), ())
