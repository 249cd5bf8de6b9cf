"""Describes what the stub of an exercise prescribes: its signatures and the quantities it names."""

import ast
import re
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from autograder.diagnosis.student_code import Function, StudentCode
from autograder.diagnosis.vocabulary import role_of_name

# Quantities of attention: a sentence with one of these words is for exercises that have it.
QUANTITIES: Final = ("quer", "key", "head", "score", "mask")
WORD: Final = re.compile(r"\b(quer(?:y|ies)|keys?|heads?|scores?|masks?)\b", re.IGNORECASE)


class Contract(NamedTuple):
    """The arguments of each function of an exercise, and the *quantities* in its text.

    *signatures* are the arguments in Python's form, by the method's name, or "" for a function.
    """

    signatures: Mapping[str, str]
    quantities: tuple[str, ...]

    def arguments(self, method: str) -> ast.arguments:
        """Return the arguments of *method*, which must be one of *signatures*."""
        [function] = ast.parse(f"def function({self.signatures[method]}): pass").body
        assert isinstance(function, ast.FunctionDef)  # noqa: S101  # for mypy
        return function.args


def contract_of(code: StudentCode, exercise: str, within: Collection[str]) -> Contract:
    """Return the contract of *exercise* in the solution *code*; it can call those in *within*."""
    definition = code.definitions[exercise][-1]
    signatures = {name: ast.unparse(one.args) for name, one in methods(definition).items()}
    used = [one for name in within for one in code.written(name).definitions]
    return Contract(signatures, quantities("\n".join(map(ast.unparse, used))))


def methods(definition: ast.stmt) -> dict[str, Function]:
    """Return the methods of a class by name, or a function by the name ""."""
    if isinstance(definition, ast.ClassDef):
        return {each.name: each for each in definition.body if isinstance(each, Function)}
    return {"": definition} if isinstance(definition, Function) else {}


def has_words(sentence: str, known: Collection[str]) -> bool:
    """Whether each quantity of attention in *sentence* is one of those *known*."""
    words = [found.lower() for found in WORD.findall(sentence)]
    return {name for name in QUANTITIES for one in words if one.startswith(name)} <= set(known)


def quantities(text: str) -> tuple[str, ...]:
    """List the quantities of attention that *text*, such as a source, mentions."""
    roles = " ".join(map(role_of_name, set(re.findall(r"\w+", text))))
    return tuple(name for name in QUANTITIES if name in f"{text.lower()} {roles}")
