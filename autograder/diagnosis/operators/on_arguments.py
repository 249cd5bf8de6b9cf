"""Mistakes in arguments: without effect, not handed on, with another default."""

import ast
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.operators.rewrites import (
    Edit,
    Rewrite,
    Site,
    constant,
    mistake,
    put,
)
from autograder.diagnosis.operators.scopes import Scope

DRAWS = ("rand", "randn")

COMMON_SIZES = (3, 4, 8, 16)


def arguments(scope: Scope) -> Iterator[Rewrite]:
    """Arguments that have no effect, and defaults that differ."""
    defaults = scope.node.args.defaults
    names = [arg.arg for arg in scope.node.args.args][len(scope.node.args.args) - len(defaults) :]
    for index, (name, default) in enumerate(zip(names, defaults, strict=True)):
        if not isinstance(default, ast.Constant):
            continue
        for value in (*_other_values(default.value), *_other_sizes(default.value)):
            sentence = f"`{name}` has another default value than documented."
            site = Site(defaults, index, 1)
            yield mistake("default_changed", constant(site, value), sentence, group=sentence)
        loads = [site for site in scope.of(ast.Name) if site.node.id == name]
        for value in (default.value, *_other_values(default.value)):
            if loads and default.value is not None:
                sentence = f"`{name}` has no effect: its value is always the same."
                edits = [constant(site, value) for site in loads]
                yield mistake("argument_ignored", edits, sentence, group=f"{name} is {value}")
    yield from _handed_on(scope)
    for site in scope.of(ast.IfExp):
        tested = [node.id for node in ast.walk(site.node.test) if isinstance(node, ast.Name)]
        if tested and tested[0] in scope.arguments:
            for part in (site.node.body, site.node.orelse):
                sentence = f"`{tested[0]}` has no effect: its value is always the same."
                yield mistake("argument_ignored", put(site, "PART", PART=part), sentence)
            parts = {"A": site.node.orelse, "T": site.node.test, "B": site.node.body}
            swap = put(site, "A if T else B", **parts)
            sentence = f"The two cases of `{tested[0]}` are exchanged."
            yield mistake("check_wrong", swap, sentence, "Which value means which case?")


def _handed_on(scope: Scope) -> Iterator[Rewrite]:
    """Arguments that are not handed on, so that another function takes its own default."""
    for site in scope.of(ast.Call):
        args = site.node.args
        for count in range(1, len(args)):
            last = args[-count]
            if not isinstance(last, ast.Name) or last.id not in scope.arguments:
                break
            less = partial(_with_fewer, count)
            sentence = f"`{last.id}` is not handed on, so it has no effect."
            yield mistake("argument_ignored", Edit(site, less), sentence)
    for name in scope.numbers:
        loads = [site for site in scope.of(ast.Name) if site.node.id == name]
        if scope.is_constructor and "dropout" in name and loads and not any(scope.calls("Dropout")):
            sentence = f"`{name}` has no effect: nothing is dropped."
            edits = [constant(site, 0.0) for site in loads]
            yield mistake("argument_ignored", edits, sentence, group="nothing is dropped")


def _with_fewer(count: int, old: ast.Call) -> ast.expr:
    new = ast.Call(old.func, old.args[:-count], old.keywords)
    return ast.copy_location(new, old)


def _other_values(value: object) -> tuple[object, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value + 1, value - 1)
    if isinstance(value, str) and value in DRAWS:
        return (DRAWS[1 - DRAWS.index(value)],)
    return ()


def _other_sizes(value: object) -> tuple[object, ...]:
    return COMMON_SIZES if isinstance(value, int) and not isinstance(value, bool) else ()


RULES = (arguments,)
