"""Describes what the stub of an exercise prescribes: its signatures and the quantities it names."""

import ast
from collections.abc import Collection, Mapping
from typing import NamedTuple

from autograder.diagnosis.consent import quantities
from autograder.diagnosis.student_code import Function, StudentCode


class Contract(NamedTuple):
    """The arguments of each function of an exercise, and the *quantities* in its text.

    *signatures* are the arguments in Python's form, by the method's name, or "" for a function.
    """

    signatures: Mapping[str, str]
    quantities: tuple[str, ...]

    def arguments(self, method: str) -> ast.arguments:
        """Return the arguments of *method*, which must be one of *signatures*."""
        return parsed(self.signatures[method])


NOTHING = Contract({}, ())


def parsed(signature: str) -> ast.arguments:
    """Parse the arguments of a function."""
    [function] = ast.parse(f"def function({signature}): pass").body
    assert isinstance(function, ast.FunctionDef)  # noqa: S101  # for mypy
    return function.args


def contract_of(text: str, exercise: str, within: Collection[str]) -> Contract:
    """Return the contract of *exercise* in the solution *text*; it can call those in *within*."""
    code = StudentCode((text.encode(),), ())
    definition = code.definitions[exercise][-1]
    signatures = {name: ast.unparse(one.args) for name, one in methods(definition).items()}
    used = [one for name in within for one in code.written(name).definitions]
    return Contract(signatures, quantities("\n".join(map(ast.unparse, used))))


def methods(definition: ast.stmt) -> dict[str, Function]:
    """Return the methods of a class by name, or a function by the name ""."""
    if isinstance(definition, ast.ClassDef):
        return {each.name: each for each in definition.body if isinstance(each, Function)}
    return {"": definition} if isinstance(definition, Function) else {}
