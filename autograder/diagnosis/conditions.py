"""Defines the conditions on the source of a student under which a sentence may be said.

A condition is a few words, such as "divides", "no divides by {name}" or "slices | loops", where "|"
separates alternatives. All conditions of a sentence must hold. A sentence without a condition
speaks only about results.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from autograder.diagnosis.student_code import OPERATIONS, WrittenCode, loses_axis, name_of
from autograder.diagnosis.vocabulary import role_of

# Conditions about a name, which follows these words.
ABOUT: Final[Mapping[str, Callable[[WrittenCode, str], bool]]] = {
    "reads": lambda code, name: name in code.reads,
    "sets": lambda code, name: name in code.sets,
    "sets twice": lambda code, name: code.sets[name] > 1,
    "calls": lambda code, name: name in code.called,
    "may call": lambda code, name: name in code.called or name not in code.exercises,
    "divides by": lambda code, name: name in code.divisors,
    "returns": lambda code, name: any(
        getattr(one.value, "id", "") == name for one in code.of(ast.Return)
    ),
    "omits the axis of": lambda code, name: name in code.calls_without_axis,
    "passes": lambda code, name: name in code.keywords,
    "reads the axis": lambda code, ordinal: code.reads_axis(ordinal),
    "computes": lambda code, names: code.computes(*names.split(" from ")),
    "multiplies": lambda code, factors: _multiplies(code, *factors.split(" by ")),
    "swaps": lambda code, axes: _swaps(code, *axes.partition(" of ")),
    "takes a": lambda code, what: f"takes a {what}" in code.operations,
    "may take a": lambda code, what: bool(BY_HAND[what] & code.operations),
    "writes": lambda code, words: _writes(code, *words.split()),
}
# The operations that may compute a reduction.
BY_HAND: Final[Mapping[str, frozenset[str]]] = {
    "sum": frozenset({"takes a sum", "adds"}),
    "mean": frozenset({"takes a mean", "divides"}),
    "maximum": frozenset({"takes a maximum", "compares"}),
    "minimum": frozenset({"takes a minimum", "compares"}),
}
LONGEST_FIRST: Final = sorted(ABOUT, key=len, reverse=True)
QUOTIENTS: Final = frozenset({"div", "div_", "divide", "true_divide", "reciprocal"})
# Conditions without a name; the operations of ``WrittenCode`` are further ones.
FACTS: Final[Mapping[str, Callable[[WrittenCode], bool]]] = {
    "changes tensors in place": lambda code: code.changes_in_place,
    "returns in a loop": lambda code: any(
        isinstance(one, ast.Return) for loop in code.loops for one in loop.body
    ),
    "returns several": lambda code: any(
        isinstance(one.value, ast.Tuple | ast.List) for one in code.of(ast.Return)
    ),
    "returns a value": lambda code: any(
        getattr(one.value, "value", one.value) is not None for one in code.of(ast.Return)
    ),
    "runs along another axis": lambda code: code.runs_along_another_axis,
    "writes a quotient": lambda code: any(
        isinstance(one, ast.Div) or name_of(one) in QUOTIENTS for one in code.nodes
    ),
    "loses an axis": lambda code: any(map(loses_axis, code.nodes)),
    "leaves loops early": lambda code: code.leaves_loops_early,
    "skips iterations": lambda code: code.skips_iterations,
    "leaves a name unused": lambda code: any(unused(code.nodes)),
    "uses infinity": lambda code: bool({"inf", "float", "finfo"} & (code.called | code.reads)),
    "takes a softmax twice": lambda code: code.softmaxes > 1 or "loops" in code.operations,
}
NO: Final = "no "


def broken_in(code: WrittenCode, conditions: Iterable[str]) -> str:
    """Return the first of *conditions* that does not hold for *code*, or "" if all hold.

    About a missing definition, nothing can be said.
    """
    if not code.definitions:
        return "a definition"
    return next((one for one in conditions if not _holds(code, one)), "")


def _holds(code: WrittenCode, condition: str) -> bool:
    return any(
        _is_fact(code, each.removeprefix(NO)) is not each.startswith(NO)
        for each in condition.split(" | ")
    )


def _is_fact(code: WrittenCode, words: str) -> bool:
    if words in FACTS:
        return FACTS[words](code)
    if words in OPERATIONS:
        return words in code.operations
    about = _about(words)
    return ABOUT[about](code, words.removeprefix(f"{about} "))


def _about(words: str) -> str:
    """Return the words of a condition before its name, or "" if they are unknown."""
    return next((one for one in LONGEST_FIRST if words.startswith(f"{one} ")), "")


def require_conditions(conditions: Iterable[str]) -> None:
    """Raise ``ValueError`` if one of *conditions* has unknown words."""
    for condition in conditions:
        for words in (each.removeprefix(NO) for each in condition.split(" | ")):
            if words not in FACTS and words not in OPERATIONS and not _about(words):
                msg = f"unknown condition {words!r}"
                raise ValueError(msg)


def unused(nodes: Sequence[ast.AST]) -> list[ast.Assign]:
    """List the assignments among *nodes* of a name that none of them reads."""
    names = [each for each in nodes if isinstance(each, ast.Name)]
    read = {each.id for each in names if isinstance(each.ctx, ast.Load)}
    found = [each for each in nodes if isinstance(each, ast.Assign)]
    return [each for each in found if getattr(each.targets[0], "id", None) not in {None, *read}]


def _writes(code: WrittenCode, number: str, times: str, *_: str) -> bool:
    """Whether the source contains *number* so many *times*, as in "0.5 2 times"."""
    numbers = [each.value for each in code.of(ast.Constant)]
    return sum(type(one) in {int, float} and one == float(number) for one in numbers) >= int(times)


def _swaps(code: WrittenCode, axes: str, _: str, phrase: str) -> bool:
    """Whether the source may swap *axes*, as in "first and last", of the quantity *phrase*."""
    one, other = axes.split(" and ")
    return code.swaps(one, other, phrase.removeprefix("the "))


def _multiplies(code: WrittenCode, one: str, other: str) -> bool:
    """Whether a matrix product has *one*, such as "the weights", as its first factor."""
    return any(
        _is_called(left, one) and _is_called(right, other)
        for each in code.nodes
        for left, right in _factors(each)
    )


def _factors(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.BinOp(left, ast.MatMult(), right):
            yield left, right
        case ast.Call(ast.Attribute(_, "matmul" | "bmm" | "mm"), [left, right]):
            yield left, right
        case ast.Call(ast.Attribute(left, "matmul" | "bmm" | "mm"), [right]):
            yield left, right


def _is_called(node: ast.expr, phrase: str) -> bool:
    return phrase.lower().removeprefix("the ").strip("`") in {role_of(node), name_of(node)}
