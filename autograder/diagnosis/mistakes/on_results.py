"""Mistakes in what is returned, in torch's graph, and between the items of a batch."""

import ast
from collections.abc import Iterator
from functools import partial
from itertools import combinations

from autograder.diagnosis.mistakes.rewriting import (
    Rewrite,
    before,
    mistake,
    put,
    site_of,
)
from autograder.diagnosis.mistakes.scopes import Scope
from autograder.diagnosis.mistakes.vocabulary import ORDINALS, PROJECTIONS, role_of


def results(scope: Scope) -> Iterator[Rewrite]:
    """What is returned: an earlier step, several values, another dtype, cut from the graph."""
    if scope.is_constructor:
        return
    for site in scope.of(ast.Return):
        value = site.node.value
        if value is None:
            continue
        make = partial(put, site_of(site, site.node, "value"))
        final = role_of(value)
        for role, name in scope.by_role.items():
            if role not in {final, "mask"} and name not in scope.tensors:
                yield mistake("wrong_return.earlier", make(name), role=role)
                yield mistake("wrong_return.as_well", make(f"(OLD, {name})"), role=role)
        for name in scope.tensors:
            yield mistake("wrong_return.argument", make(name), name=name)
        for dtype in ("float64", "float32", "int64", "bool"):
            yield mistake("dtype.other", make(f"OLD.to(torch.{dtype})"), "dtype", dtype=dtype)
        yield mistake("detached.result", make("OLD.detach()"), "result")


def forms(scope: Scope) -> Iterator[Rewrite]:
    """The form of the result: True and False exchanged, several results in another order."""
    for site in scope.of(ast.Return):
        value = site.node.value
        make = partial(put, site_of(site, site.node, "value"))
        if isinstance(value, ast.Compare):
            yield mistake("mask_inverted.booleans", make("~(OLD)"))
        for first, second in combinations(range(_length(value)), 2):
            order = list(range(_length(value)))
            order[first], order[second] = order[second], order[first]
            text = f"({', '.join(f'OLD[{index}]' for index in order)})"
            one, other = ORDINALS[first], ORDINALS[second]
            yield mistake("wrong_return.order", make(text), one=one, other=other)


def _length(value: ast.expr | None) -> int:
    return len(value.elts) if isinstance(value, ast.Tuple) else 0


def graph(scope: Scope) -> Iterator[Rewrite]:
    """A quantity that is cut from the graph on its way to the result."""
    if scope.is_constructor:
        return
    for site in scope.of(ast.Assign):
        role = role_of(site.node.targets[0])
        if role == "scores" and "weights" in scope.by_role:
            role = "weights"  # which depend on nothing else
        if role and role != "mask":
            edit = put(site_of(site, site.node, "value"), "OLD.detach()")
            yield mistake("detached.quantity", edit, role=role)
    for site in scope.of(ast.BinOp):
        if isinstance(site.node.op, ast.Div | ast.Sub) and isinstance(site.node.right, ast.Call):
            divides = isinstance(site.node.op, ast.Div)
            key = "detached.divisor" if divides else "detached.subtracted"
            yield mistake(key, put(site_of(site, site.node, "right"), "OLD.detach()"))


def batch(scope: Scope) -> Iterator[Rewrite]:
    """Items of a batch that are not independent."""
    if scope.is_constructor or not scope.tensors:
        return
    name = scope.tensors[0]
    first = scope.start
    for site in scope.of(ast.Assign):
        role, value = role_of(site.node.targets[0]), site_of(site, site.node, "value")
        if role in PROJECTIONS:
            text = "(lambda t: t[:1].expand_as(t) if t.ndim > 2 else t)(OLD)"
            yield mistake("batch_mixed.quantity", put(value, text), role=role)
            text = "(lambda t: t[:, :1].expand_as(t) if t.ndim > 3 else t)(OLD)"
            yield mistake("heads_repeated.quantity", put(value, text), role=role)
    for text, key in (
        ("[:1]", "batch_mixed.first"),
        (".mean(0, keepdim=True)", "batch_mixed.averaged"),
    ):
        same = f"{name} = {name}{text}.expand_as({name}) if {name}.ndim > 2 else {name}"
        yield mistake(key, before(first, same))


RULES = (results, forms, graph, batch)
