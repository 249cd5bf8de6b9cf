"""Mistakes in queries, keys and values: which one is used, and what it is made from."""

import ast
from collections.abc import Iterator, Sequence
from itertools import combinations

from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Site,
    mistake,
    name_of,
    put,
)
from autograder.diagnosis.mistakes.scopes import Scope
from autograder.diagnosis.mistakes.vocabulary import PROJECTIONS, is_parameter, role_of

USED_FOR = {  # another quantity is used where this one must be
    "queries": "projection_exchanged.for_queries",
    "keys": "projection_exchanged.for_keys",
    "values": "projection_exchanged.for_values",
}


def projections(scope: Scope) -> Iterator[Rewrite]:
    """One of queries, keys and values used for another, or the inputs for one of them."""
    if scope.is_constructor:
        return
    shapes = {id(site.node.value) for site in scope.of(ast.Attribute) if site.node.attr == "shape"}
    tensors = {str(role): name for role, name in scope.by_role.items() if role in PROJECTIONS}
    names = (*scope.tensors, *scope.locals)
    matrices = {role_of(ast.Name(name)): name for name in names if is_parameter(name)}
    for site in scope.of(ast.Name):
        role = role_of(site.node)
        known = matrices if is_parameter(site.node.id) else tensors
        loaded = isinstance(site.node.ctx, ast.Load) and id(site.node) not in shapes
        if role not in known or not loaded:
            continue
        others = [(other, name) for other, name in known.items() if other != role]
        for other, name in others:
            yield mistake(USED_FOR[role], put(site, name), f"{other} for {role}", other=other)
        inputs = [name for name in scope.tensors if not role_of(ast.Name(name))]
        for name in inputs if known[role] not in scope.tensors else ():
            edit, group = put(site, name), f"inputs for {role}"
            yield mistake("projection_missing.inputs", edit, group, name=name, role=role)


def layers(scope: Scope) -> Iterator[Rewrite]:
    """A layer that is skipped, or exchanged with another one; another input of a layer."""
    if scope.is_constructor or scope.owner is None:
        return
    found = [site for site in _uses_of_layers(scope) if role_of(site.node) in PROJECTIONS]
    for one, other in combinations(found, 2):
        roles = role_of(one.node), role_of(other.node)
        if roles[0] != roles[1]:
            edits = (put(one, "NEW", NEW=other.node), put(other, "NEW", NEW=one.node))
            yield _exchange(edits, *roles)
            yield from _other_layers(scope, one, other)
    for site in scope.of(ast.Call):
        call = site.node
        own = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "self"
        if own and len(call.args) == 1 and "dropout" not in name_of(call.func).lower():
            role = role_of(call)
            name = name_of(call.func)
            key, group = "layer_unused.layer", ""
            if role in PROJECTIONS:
                key, group = "projection_missing.layer", f"inputs for {role}"
            yield mistake(key, put(site, "FIRST"), group, layer=name, role=role)
    yield from _other_inputs(scope)


def _other_layers(scope: Scope, one: Site, other: Site) -> Iterator[Rewrite]:
    """One of two layers makes both quantities, from different inputs."""
    calls = {id(site.node.func): site.node.args for site in scope.of(ast.Call)}
    given = [ast.unparse(calls.get(id(site.node), [])) for site in (one, other)]
    if given[0] == given[1]:
        return  # then one quantity is used for the other
    for site, instead in ((one, other), (other, one)):
        used, unused = name_of(instead.node), name_of(site.node)
        words = {"layer": used, "other": unused, "role": role_of(site.node)}
        edit = put(site, "NEW", NEW=instead.node)
        yield mistake("projection_exchanged.one_layer", edit, **words)


def _exchange(edits: Sequence[Edit], one: str, other: str) -> Rewrite:
    """Two projections, exchanged by *edits*."""
    group = f"exchange {' '.join(sorted((one, other), reverse=True))}"
    if {one, other} == {"queries", "keys"}:
        return mistake("projection_exchanged.queries_and_keys", edits, group)
    return mistake("projection_exchanged.quantities", edits, group, one=one, other=other)


def _other_inputs(scope: Scope) -> Iterator[Rewrite]:
    """Another argument goes into a projection."""
    tensors = [name for name in scope.tensors if name not in scope.optional]
    for site in scope.of(ast.Name):
        if site.node.id not in tensors or not isinstance(site.node.ctx, ast.Load):
            continue
        for name in tensors:
            right = site.node.id
            if name != right:
                group = f"operand_repeated {name} {right}"
                edit = put(site, name)
                yield mistake("operand_repeated.argument", edit, group, name=name, right=right)


def inputs(scope: Scope) -> Iterator[Rewrite]:
    """Two arguments that are exchanged."""
    for one, other in combinations(scope.tensors, 2):
        sites = [site for site in scope.of(ast.Name) if site.node.id in {one, other}]
        sites = [site for site in sites if isinstance(site.node.ctx, ast.Load)]
        edits = [put(site, other if site.node.id == one else one) for site in sites]
        if {site.node.id for site in sites} == {one, other}:
            roles = [role_of(ast.Name(name)) for name in (one, other)]
            if all(roles):
                yield _exchange(edits, *roles)
            else:
                yield mistake("projection_exchanged.names", edits, one=one, other=other)


def _uses_of_layers(scope: Scope) -> Iterator[Site]:
    for site in scope.of(ast.Attribute):
        if ast.unparse(site.node.value) == "self" and isinstance(site.node.ctx, ast.Load):
            yield site


RULES = (projections, layers, inputs)
