"""Mistakes in arguments: without effect, not handed on, with another default."""

import ast
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Site,
    constant,
    mistake,
    put,
)
from autograder.diagnosis.mistakes.scopes import Scope

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
            edit = constant(Site(defaults, index, 1), value)
            group = f"default of {name}"
            yield mistake("default_changed.argument", edit, group, name=name)
        loads = [site for site in scope.of(ast.Name) if site.node.id == name]
        for value in (default.value, *_other_values(default.value)):
            if loads and default.value is not None:
                edits = [constant(site, value) for site in loads]
                group = f"{name} is {value}"
                yield mistake("argument_ignored.constant", edits, group, name=name)
    yield from _handed_on(scope)
    for site in scope.of(ast.IfExp):
        tested = [node.id for node in ast.walk(site.node.test) if isinstance(node, ast.Name)]
        if tested and tested[0] in scope.arguments:
            for part in (site.node.body, site.node.orelse):
                edit = put(site, "PART", PART=part)
                yield mistake("argument_ignored.constant", edit, name=tested[0])
            parts = {"A": site.node.orelse, "T": site.node.test, "B": site.node.body}
            swap = put(site, "A if T else B", **parts)
            yield mistake("check_wrong.cases", swap, name=tested[0])


def _handed_on(scope: Scope) -> Iterator[Rewrite]:
    """Arguments that are not handed on, so that another function takes its own default."""
    for site in scope.of(ast.Call):
        args = site.node.args
        for count in range(1, len(args)):
            last = args[-count]
            if not isinstance(last, ast.Name) or last.id not in scope.arguments:
                break
            less = partial(_with_fewer, count)
            yield mistake("argument_ignored.not_passed", Edit(site, less), name=last.id)
    for name in scope.numbers:
        loads = [site for site in scope.of(ast.Name) if site.node.id == name]
        if scope.is_constructor and "dropout" in name and loads and not any(scope.calls("Dropout")):
            edits = [constant(site, 0.0) for site in loads]
            yield mistake("argument_ignored.dropout", edits, "nothing is dropped", name=name)


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
